#pragma once
// What tiktoken files leave to the program that reads them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace titan::text {

struct TiktokenFamily {
  const char* name;
  size_t num_ranks;
  const char* pattern;
  bool nfc;  // text is normalized first
  // With the ids num_ranks, num_ranks + 1, ...
  std::vector<std::string> (*special_tokens)();
  const char* bos;  // also put in front of a text; empty: none
  const char* pad;  // empty: none
  std::vector<const char*> eos;
};

// The family with this number of ranks. FormatError names the known ones.
[[nodiscard]] const TiktokenFamily& find_tiktoken_family(
    size_t num_ranks, const std::string& name);

}  // namespace titan::text

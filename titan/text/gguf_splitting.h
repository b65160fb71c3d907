#pragma once
// tokenizer.ggml.pre: how the text of one kind of byte-level tokenizer is cut.

#include <string>
#include <string_view>
#include <vector>

namespace titan::text {

struct GgufSplitting {
  std::vector<std::string_view> names;     // values of the key
  bool digits = false;                     // each digit a piece of its own
  std::vector<const char*> patterns = {};  // before the byte alphabet, in order
  bool gpt2_pattern = false;               // ByteLevel cuts by its own pattern
  bool ignore_merges = false;
  bool nfc = false;
};

// FormatError names a value that is not known, and those that are.
[[nodiscard]] const GgufSplitting& find_gguf_splitting(const std::string& pre);

}  // namespace titan::text

#pragma once
// For tests: a byte-level tokenizer with id = byte, and more tokens from id 256.

#include <string>
#include <vector>

#include "titan/base/json.h"
#include "titan/text/byte_alphabet.h"

namespace titan::text {

inline Json byte_level_json() {
  return {
      {"type", "ByteLevel"},
      {"add_prefix_space", false},
      {"trim_offsets", true},
      {"use_regex", true}};
}

// A tokenizer.json; `parts` replaces top-level members, those of "model" one by one.
inline Json byte_tokenizer_json(
    const std::vector<std::string>& tokens = {}, const Json& parts = Json::object()) {
  Json vocabulary = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary[byte_symbol(static_cast<uint8_t>(byte))] = byte;
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    vocabulary[tokens[i]] = 256 + i;
  }
  Json json = {
      {"added_tokens", Json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", byte_level_json()},
      {"post_processor", nullptr},
      {"decoder", byte_level_json()},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
  for (const auto& [key, value] : parts.items()) {
    if (key == "model") {
      json["model"].update(value);
    } else {
      json[key] = value;
    }
  }
  return json;
}

inline Json added_token_json(int id, const std::string& content, bool special = true) {
  return {
      {"id", id},
      {"content", content},
      {"single_word", false},
      {"lstrip", false},
      {"rstrip", false},
      {"normalized", false},
      {"special", special}};
}

}  // namespace titan::text

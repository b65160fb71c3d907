#include "titan/text/gguf_splitting.h"

#include <algorithm>

#include "titan/base/error.h"
#include "titan/text/split_patterns.h"

namespace titan::text {
namespace {

constexpr const char* kSigns = R"([\p{P}\$\+<=>\^~\|]+)";
constexpr const char* kFalconSigns = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr const char* kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))";
constexpr const char* kThreeDigits = "[0-9][0-9][0-9]";

// The names are llama.cpp's; the patterns those of the published tokenizer.json files.
// "default" is what llama.cpp does where a file names no pattern of its own.
const std::vector<GgufSplitting>& splittings() {
  static const std::vector<GgufSplitting> known{
      {.names = {"default"}, .patterns = {kSigns, kGpt2Words, R"(\p{N}+)", kThreeDigits}},
      {.names = {"falcon"}, .patterns = {kFalconSigns, kGpt2Words, kThreeDigits}},
      {.names = {"gpt-2", "phi-2", "mpt", "olmo", "trillion"}, .gpt2_pattern = true},
      {.names = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone"},
       .digits = true,
       .gpt2_pattern = true},
      {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "lfm2"},
       .patterns = {kLlama3Pattern},
       .ignore_merges = true},
      {.names = {"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"},
       .patterns = {kLlama3Pattern}},
      {.names = {"qwen2", "deepseek-r1-qwen"}, .patterns = {kQwen2Pattern}, .nfc = true},
      {.names = {"qwen35"}, .patterns = {kQwen35Pattern}, .nfc = true},
      {.names = {"stablelm2", "hunyuan"}, .patterns = {kQwen2Pattern}},
      {.names = {"gpt-4o", "llama4"}, .patterns = {kO200kPattern}, .ignore_merges = true},
      {.names = {"tekken"}, .patterns = {kTekkenPattern}, .ignore_merges = true},
      {.names = {"kimi-k2"}, .patterns = {kKimiPattern}, .ignore_merges = true},
      {.names = {"deepseek-v3", "hunyuan-dense"},
       .patterns = {std::begin(kDeepSeek3Patterns), std::end(kDeepSeek3Patterns)}}};
  return known;
}

}  // namespace

const GgufSplitting& find_gguf_splitting(const std::string& pre) {
  std::vector<std::string_view> known;
  for (const GgufSplitting& splitting : splittings()) {
    if (std::ranges::find(splitting.names, pre) != splitting.names.end()) {
      return splitting;
    }
    known.insert(known.end(), splitting.names.begin(), splitting.names.end());
  }
  fail<FormatError>(
      "tokenizer.ggml.pre: \"{}\" is not supported (known: {})",
      pre,
      fmt::join(known, ", "));
}

}  // namespace titan::text

#include "titan/text/gguf_tokenizer.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "titan/base/error.h"

namespace titan::text {
namespace {

// tokenizer.ggml.token_type of the GGUF format.
enum class TokenType : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

// How the text of one kind of tokenizer is cut. The patterns are those of the published
// tokenizer.json files (GPT-2, Llama 3, Qwen 2, SmolLM2).
struct Splitting {
  std::string_view pre;
  bool digits = false;                         // each digit a piece of its own
  std::span<const std::string_view> patterns;  // before the byte alphabet, in order
  bool gpt2_pattern = false;                   // ByteLevel cuts by its own pattern
  bool ignore_merges = false;
  bool nfc = false;
};

constexpr std::string_view kLlama3[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kQwen2[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
// What llama.cpp does where a file names no pattern of its own.
constexpr std::string_view kDefault[] = {
    R"([\p{P}\$\+<=>\^~\|]+)",
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))",
    R"(\p{N}+)",
    R"([0-9][0-9][0-9])"};

constexpr Splitting kSplittings[] = {
    {.pre = "default", .patterns = kDefault},
    {.pre = "gpt-2", .patterns = {}, .gpt2_pattern = true},
    {.pre = "llama-bpe", .patterns = kLlama3, .ignore_merges = true},
    {.pre = "qwen2", .patterns = kQwen2, .nfc = true},
    {.pre = "smollm", .digits = true, .patterns = {}, .gpt2_pattern = true}};

const Splitting& find_splitting(const std::string& pre) {
  std::vector<std::string_view> known;
  for (const Splitting& splitting : kSplittings) {
    if (splitting.pre == pre) {
      return splitting;
    }
    known.push_back(splitting.pre);
  }
  fail<FormatError>(
      "tokenizer.ggml.pre: \"{}\" is not supported (known: {})",
      pre,
      fmt::join(known, ", "));
}

void check(const GgufTokenizerMetadata& metadata) {
  if (metadata.model != "gpt2") {
    fail<FormatError>(
        "tokenizer.ggml.model: \"{}\" is not supported (known: gpt2)", metadata.model);
  }
  if (metadata.tokens.empty()) {
    fail<FormatError>("tokenizer.ggml.tokens: empty");
  }
  if (metadata.token_types.size() != metadata.tokens.size()) {
    fail<FormatError>(
        "tokenizer.ggml.token_type: expected {} entries, got {}",
        metadata.tokens.size(),
        metadata.token_types.size());
  }
  std::unordered_set<std::string_view> seen;
  for (size_t id = 0; id < metadata.tokens.size(); ++id) {
    if (!seen.insert(metadata.tokens[id]).second) {
      fail<FormatError>(
          "tokenizer.ggml.tokens: id {}: \"{}\" occurs twice", id, metadata.tokens[id]);
    }
  }
}

// The spelling of a special token. FormatError names the key of an id out of range.
const std::string& token_at(
    const GgufTokenizerMetadata& metadata, int32_t id, std::string_view key) {
  if (id < 0 || static_cast<size_t>(id) >= metadata.tokens.size()) {
    fail<FormatError>(
        "tokenizer.ggml.{}: {} is not one of {} ids", key, id, metadata.tokens.size());
  }
  return metadata.tokens[static_cast<size_t>(id)];
}

Json byte_level(bool add_prefix_space, bool use_regex) {
  return {
      {"type", "ByteLevel"},
      {"add_prefix_space", add_prefix_space},
      {"trim_offsets", true},
      {"use_regex", use_regex}};
}

Json pre_tokenizer(const Splitting& splitting, bool add_space_prefix) {
  Json parts = Json::array();
  if (splitting.digits) {
    parts.push_back({{"type", "Digits"}, {"individual_digits", true}});
  }
  for (const std::string_view pattern : splitting.patterns) {
    parts.push_back(
        {{"type", "Split"},
         {"pattern", {{"Regex", pattern}}},
         {"behavior", "Isolated"},
         {"invert", false}});
  }
  parts.push_back(byte_level(add_space_prefix, splitting.gpt2_pattern));
  return {{"type", "Sequence"}, {"pretokenizers", parts}};
}

// BOS in front of the text, where the file asks for it.
Json post_processor(const GgufTokenizerMetadata& metadata) {
  if (!metadata.add_bos) {
    return nullptr;
  }
  if (!metadata.bos_id) {
    fail<FormatError>("tokenizer.ggml.add_bos_token: set, but there is no bos_token_id");
  }
  const std::string& bos = token_at(metadata, *metadata.bos_id, "bos_token_id");
  const Json special = {{"SpecialToken", {{"id", bos}, {"type_id", 0}}}};
  const auto text = [](const char* id, int type_id) {
    return Json{{"Sequence", {{"id", id}, {"type_id", type_id}}}};
  };
  Json result = {
      {"type", "TemplateProcessing"},
      {"single", Json::array({special, text("A", 0)})},
      {"pair", Json::array({special, text("A", 0), text("B", 1)})},
      {"special_tokens", Json::object()}};
  result["special_tokens"][bos] = {
      {"id", bos},
      {"ids", Json::array({*metadata.bos_id})},
      {"tokens", Json::array({bos})}};
  return result;
}

Json added_tokens(const GgufTokenizerMetadata& metadata) {
  Json list = Json::array();
  for (size_t id = 0; id < metadata.tokens.size(); ++id) {
    const auto type = static_cast<TokenType>(metadata.token_types[id]);
    if (type == TokenType::kControl || type == TokenType::kUserDefined) {
      list.push_back(
          {{"id", id},
           {"content", metadata.tokens[id]},
           {"single_word", false},
           {"lstrip", false},
           {"rstrip", false},
           {"normalized", false},
           {"special", type == TokenType::kControl}});
    }
  }
  return list;
}

Json bpe_model(const GgufTokenizerMetadata& metadata, const Splitting& splitting) {
  Json vocabulary = Json::object();
  // Appended directly: operator[] would search all members for each token.
  auto& members = vocabulary.get_ref<Json::object_t&>();
  members.reserve(metadata.tokens.size());
  for (size_t id = 0; id < metadata.tokens.size(); ++id) {
    // Unused ids only fill the table up to a round size.
    if (static_cast<TokenType>(metadata.token_types[id]) != TokenType::kUnused) {
      members.emplace_back(metadata.tokens[id], id);
    }
  }
  return {
      {"type", "BPE"},
      {"dropout", nullptr},
      {"unk_token", nullptr},
      {"continuing_subword_prefix", nullptr},
      {"end_of_word_suffix", nullptr},
      {"fuse_unk", false},
      {"byte_fallback", false},
      {"ignore_merges", splitting.ignore_merges},
      {"vocab", std::move(vocabulary)},
      {"merges", metadata.merges}};
}

}  // namespace

Json tokenizer_json_from_gguf(const GgufTokenizerMetadata& metadata) {
  check(metadata);
  const Splitting& splitting = find_splitting(metadata.pre);
  return {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added_tokens(metadata)},
      {"normalizer", splitting.nfc ? Json{{"type", "NFC"}} : Json()},
      {"pre_tokenizer", pre_tokenizer(splitting, metadata.add_space_prefix)},
      {"post_processor", post_processor(metadata)},
      {"decoder", byte_level(true, true)},
      {"model", bpe_model(metadata, splitting)}};
}

Json tokenizer_config_from_gguf(const GgufTokenizerMetadata& metadata) {
  check(metadata);
  Json config = {
      {"tokenizer_class", "PreTrainedTokenizerFast"},
      {"add_bos_token", metadata.add_bos},
      {"add_prefix_space", metadata.add_space_prefix},
      {"clean_up_tokenization_spaces", false}};
  const auto name = [&](const char* role, const char* key, std::optional<int32_t> id) {
    if (id) {
      config[role] = token_at(metadata, *id, key);
    }
  };
  name("bos_token", "bos_token_id", metadata.bos_id);
  name("eos_token", "eos_token_id", metadata.eos_id);
  name("unk_token", "unknown_token_id", metadata.unk_id);
  name("pad_token", "padding_token_id", metadata.pad_id);
  if (!metadata.chat_template.empty()) {
    config["chat_template"] = metadata.chat_template;
  }
  return config;
}

}  // namespace titan::text

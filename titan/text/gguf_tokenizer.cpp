#include "titan/text/gguf_tokenizer.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/bpe.h"
#include "titan/text/gguf_splitting.h"

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

constexpr std::string_view kByteLevelModel = "gpt2";
constexpr std::string_view kSentencePieceModel = "llama";

void check(const GgufTokenizerMetadata& metadata) {
  if (metadata.model != kByteLevelModel && metadata.model != kSentencePieceModel) {
    fail<FormatError>(
        "tokenizer.ggml.model: \"{}\" is not supported (known: gpt2, llama)",
        metadata.model);
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
  if (metadata.model == kSentencePieceModel &&
      metadata.scores.size() != metadata.tokens.size()) {
    fail<FormatError>(
        "tokenizer.ggml.scores: expected {} entries, got {}",
        metadata.tokens.size(),
        metadata.scores.size());
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

Json pre_tokenizer(const GgufSplitting& splitting, bool add_space_prefix) {
  Json parts = Json::array();
  if (splitting.digits) {
    parts.push_back({{"type", "Digits"}, {"individual_digits", true}});
  }
  for (const char* pattern : splitting.patterns) {
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

// The members of every BPE model; the caller puts the vocabulary's merges in.
Json bpe_model(const GgufTokenizerMetadata& metadata, Json merges) {
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
      {"ignore_merges", false},
      {"vocab", std::move(vocabulary)},
      {"merges", std::move(merges)}};
}

Json byte_level_tokenizer(const GgufTokenizerMetadata& metadata) {
  const GgufSplitting& splitting = find_gguf_splitting(metadata.pre);
  Json model = bpe_model(metadata, metadata.merges);
  model["ignore_merges"] = splitting.ignore_merges;
  return {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added_tokens(metadata)},
      {"normalizer", splitting.nfc ? Json{{"type", "NFC"}} : Json()},
      {"pre_tokenizer", pre_tokenizer(splitting, metadata.add_space_prefix)},
      {"post_processor", post_processor(metadata)},
      {"decoder", byte_level(true, true)},
      {"model", std::move(model)}};
}

// All ways to make a piece from two others, best score first: the list of merges with
// which Hugging Face files stand for SentencePiece's BPE.
Json sentencepiece_merges(const GgufTokenizerMetadata& metadata) {
  std::vector<RankedToken> pieces;
  for (size_t i = 0; i < metadata.tokens.size(); ++i) {
    if (static_cast<TokenType>(metadata.token_types[i]) == TokenType::kNormal) {
      pieces.push_back({metadata.tokens[i], static_cast<int32_t>(i), 0});
    }
  }
  std::vector<Bpe::Merge> merges = merges_of_ranked_tokens(pieces);
  const auto score = [&](const Bpe::Merge& merge) {
    return metadata.scores[static_cast<size_t>(merge.joined)];
  };
  std::ranges::stable_sort(merges, [&](const Bpe::Merge& a, const Bpe::Merge& b) {
    return score(a) > score(b);
  });
  const auto token = [&](int32_t id) { return metadata.tokens[static_cast<size_t>(id)]; };
  Json list = Json::array();
  for (const Bpe::Merge& merge : merges) {
    list.push_back(Json::array({token(merge.left), token(merge.right)}));
  }
  return list;
}

Json sentencepiece_tokenizer(const GgufTokenizerMetadata& metadata) {
  constexpr const char* kMark = "\u2581";
  Json model = bpe_model(metadata, sentencepiece_merges(metadata));
  model["fuse_unk"] = true;
  model["byte_fallback"] = true;
  if (metadata.unk_id) {
    model["unk_token"] = token_at(metadata, *metadata.unk_id, "unknown_token_id");
  }
  const auto replace = [](const char* text, const char* content) {
    return Json{
        {"type", "Replace"}, {"pattern", {{"String", text}}}, {"content", content}};
  };
  Json normalizers = Json::array();
  Json decoders =
      Json::array({replace(kMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (metadata.add_space_prefix) {
    normalizers.push_back({{"type", "Prepend"}, {"prepend", kMark}});
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  normalizers.push_back(replace(" ", kMark));
  return {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added_tokens(metadata)},
      {"normalizer", {{"type", "Sequence"}, {"normalizers", normalizers}}},
      {"pre_tokenizer", nullptr},
      {"post_processor", post_processor(metadata)},
      {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}},
      {"model", std::move(model)}};
}

}  // namespace

Json tokenizer_json_from_gguf(const GgufTokenizerMetadata& metadata) {
  check(metadata);
  return metadata.model == kByteLevelModel ? byte_level_tokenizer(metadata)
                                           : sentencepiece_tokenizer(metadata);
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

#include "titan/text/tekken.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/base64.h"
#include "titan/text/ranked_tokenizer.h"

namespace titan::text {
namespace {

// The special tokens of files up to version 7, which do not list them
// (mistral_common/tokens/tokenizers/tekken.py).
constexpr const char* kOldSpecialTokens[] = {
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]"};

// The listed ones, then "<SPECIAL_20>" and so on up to `count`.
std::vector<AddedToken> read_special_tokens(
    const Json& json, int64_t count, const std::string& name) {
  std::vector<AddedToken> tokens;
  const auto list = json.find("special_tokens");
  if (list == json.end() || list->is_null()) {
    for (const char* content : kOldSpecialTokens) {
      tokens.push_back(special_token(static_cast<int32_t>(tokens.size()), content));
    }
  } else {
    for (size_t i = 0; i < list->size(); ++i) {
      const std::string where = fmt::format("{}: special_tokens.{}", name, i);
      const Json& entry = list->at(i);
      if (json_get<int64_t>(entry, "rank", where) != static_cast<int64_t>(i)) {
        fail<FormatError>("{}: rank: expected {}", where, i);
      }
      tokens.push_back(special_token(
          static_cast<int32_t>(i), json_get<std::string>(entry, "token_str", where)));
    }
  }
  if (std::ssize(tokens) > count) {
    fail<FormatError>(
        "{}: config.default_num_special_tokens: {} is less than the {} special tokens",
        name,
        count,
        tokens.size());
  }
  for (auto id = static_cast<int32_t>(tokens.size()); id < count; ++id) {
    tokens.push_back(special_token(id, fmt::format("<SPECIAL_{}>", id)));
  }
  return tokens;
}

// The first `count` tokens.
std::vector<RankedBytes> read_vocabulary(
    const Json& list, int64_t count, const std::string& name) {
  if (count > std::ssize(list)) {
    fail<FormatError>("{}: vocab: expected {} tokens, got {}", name, count, list.size());
  }
  std::vector<RankedBytes> tokens;
  for (int64_t i = 0; i < count; ++i) {
    const std::string where = fmt::format("{}: vocab.{}", name, i);
    const Json& entry = list[static_cast<size_t>(i)];
    std::optional<std::string> bytes =
        decode_base64(json_get<std::string>(entry, "token_bytes", where));
    if (!bytes || json_get<int64_t>(entry, "rank", where) != i) {
      fail<FormatError>("{}: expected rank {} and token_bytes in base64", where, i);
    }
    tokens.push_back({std::move(*bytes), static_cast<int32_t>(i)});
  }
  return tokens;
}

}  // namespace

bool looks_like_tekken(const Json& json) {
  return json.is_object() && json.contains("config") && json.contains("vocab");
}

TokenizerState read_tekken(
    const Json& json, const std::string& name, const std::vector<AddedToken>& added) {
  const std::string where = name + ": config";
  const Json& config = json.at("config");
  const auto count = json_get<int64_t>(config, "default_num_special_tokens", where);
  const auto size = json_get<int64_t>(config, "default_vocab_size", where);
  if (count < 0 || size < count || size > std::numeric_limits<int32_t>::max()) {
    fail<FormatError>("{}: {} special tokens of {} do not fit", where, count, size);
  }
  const std::vector<AddedToken> special = read_special_tokens(json, count, name);
  TokenizerState state = make_ranked_tokenizer(
      name,
      read_vocabulary(json.at("vocab"), size - count, name),
      static_cast<int32_t>(count),
      json_get<std::string>(config, "pattern", where),
      join_added_tokens(added, special));
  const auto find = [&](const char* token) -> std::optional<int32_t> {
    const auto found = state.ids.find(token);
    return found == state.ids.end() ? std::nullopt : std::optional(found->second);
  };
  state.bos_id = find("<s>");
  state.pad_id = find("<pad>");
  if (const std::optional<int32_t> eos = find("</s>")) {
    state.eos_ids.push_back(*eos);
  }
  if (state.bos_id) {
    state.post_processor = make_surrounding_post_processor({*state.bos_id}, {});
  }
  return state;
}

}  // namespace titan::text

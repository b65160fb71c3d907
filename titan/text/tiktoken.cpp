#include "titan/text/tiktoken.h"

#include <charconv>
#include <optional>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/base64.h"
#include "titan/text/ranked_tokenizer.h"
#include "titan/text/tiktoken_family.h"

namespace titan::text {
namespace {

std::optional<RankedBytes> read_line(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) {
    return std::nullopt;
  }
  std::optional<std::string> bytes = decode_base64(line.substr(0, space));
  const std::string_view number = line.substr(space + 1);
  int32_t rank = -1;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), rank);
  if (!bytes || bytes->empty() || error != std::errc() ||
      end != number.data() + number.size() || rank < 0) {
    return std::nullopt;
  }
  return RankedBytes{std::move(*bytes), rank};
}

// Takes the next line off `text`, without its end.
std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

std::vector<RankedBytes> read_ranks(std::string_view text, const std::string& name) {
  std::vector<RankedBytes> tokens;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty()) {
      continue;
    }
    std::optional<RankedBytes> token = read_line(line);
    if (!token) {
      fail<FormatError>("{}:{}: expected a token in base64 and its rank", name, number);
    }
    tokens.push_back(std::move(*token));
  }
  return tokens;
}

}  // namespace

bool looks_like_tiktoken(std::string_view text) {
  return read_line(take_line(text)).has_value();
}

TokenizerState read_tiktoken(
    std::string_view text,
    const std::string& name,
    const std::vector<AddedToken>& added) {
  const std::vector<RankedBytes> tokens = read_ranks(text, name);
  const TiktokenFamily& family = find_tiktoken_family(tokens.size(), name);
  std::vector<AddedToken> own;
  for (const std::string& content : family.special_tokens()) {
    own.push_back(
        special_token(static_cast<int32_t>(family.num_ranks + own.size()), content));
  }
  TokenizerState state = make_ranked_tokenizer(
      name, tokens, 0, family.pattern, join_added_tokens(added, own));
  if (family.nfc) {
    state.normalizer = make_nfc_normalizer();
  }
  const auto find = [&](std::string_view token) -> std::optional<int32_t> {
    const auto found = state.ids.find(token);
    return found == state.ids.end() ? std::nullopt : std::optional(found->second);
  };
  state.bos_id = find(family.bos);
  state.pad_id = find(family.pad);
  for (const char* eos : family.eos) {
    if (const std::optional<int32_t> id = find(eos)) {
      state.eos_ids.push_back(*id);
    }
  }
  if (state.bos_id) {
    state.post_processor = make_surrounding_post_processor({*state.bos_id}, {});
  }
  return state;
}

}  // namespace titan::text

#include "titan/text/added_tokens.h"

#include <algorithm>
#include <cstdint>

#include "titan/base/error.h"
#include "titan/text/characters.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

// Start of the last character of `text`. REQUIRES: well-formed, not empty.
size_t last_character(std::string_view text) {
  size_t at = text.size() - 1;
  while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) {
    --at;
  }
  return at;
}

bool ends_in_word(std::string_view text) {
  if (text.empty()) {
    return false;
  }
  const size_t at = last_character(text);
  return is_word(code_point(text.substr(at), text.size() - at));
}

bool starts_in_word(std::string_view text) {
  return !text.empty() && is_word(code_point(text, next_utf8(text).size));
}

// Bytes of the white space that `text` ends with.
size_t space_at_end(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    const size_t at = last_character(text.substr(0, end));
    if (!is_space(code_point(text.substr(at), end - at))) {
      break;
    }
    end = at;
  }
  return text.size() - end;
}

size_t space_at_start(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t size = next_utf8(text.substr(at)).size;
    if (!is_space(code_point(text.substr(at), size))) {
      break;
    }
    at += size;
  }
  return at;
}

uint64_t edge_key(int32_t node, char byte) {
  return static_cast<uint64_t>(node) << 8 | static_cast<unsigned char>(byte);
}

}  // namespace

AddedToken read_added_token(const Json& node, int64_t id, const std::string& where) {
  if (id < 0 || id > INT32_MAX) {
    fail<FormatError>("{}: id: expected 0 .. {}, got {}", where, INT32_MAX, id);
  }
  AddedToken token;
  token.id = static_cast<int32_t>(id);
  token.content = json_get<std::string>(node, "content", where);
  token.special = json_get<bool>(node, "special", where, false);
  token.single_word = json_get<bool>(node, "single_word", where, false);
  token.lstrip = json_get<bool>(node, "lstrip", where, false);
  token.rstrip = json_get<bool>(node, "rstrip", where, false);
  token.normalized = json_get<bool>(node, "normalized", where, !token.special);
  return token;
}

AddedTokenMatcher::AddedTokenMatcher() {
  root_.fill(kNone);
}

void AddedTokenMatcher::add(const AddedToken& token, std::string_view spelling) {
  if (spelling.empty()) {
    return;
  }
  const auto new_node = [&] {
    token_of_node_.push_back(kNone);
    return static_cast<int32_t>(token_of_node_.size()) - 1;
  };
  int32_t& first = root_[static_cast<unsigned char>(spelling[0])];
  if (first == kNone) {
    first = new_node();
  }
  int32_t node = first;
  for (const char byte : spelling.substr(1)) {
    const auto [edge, added] = edges_.try_emplace(edge_key(node, byte), kNone);
    if (added) {
      edge->second = new_node();
    }
    node = edge->second;
  }
  token_of_node_[static_cast<size_t>(node)] = static_cast<int32_t>(tokens_.size());
  tokens_.push_back(token);
}

AddedTokenMatcher::Match AddedTokenMatcher::longest_at(std::string_view text) const {
  Match best{nullptr, 0};
  int32_t node = root_[static_cast<unsigned char>(text[0])];
  for (size_t size = 1; node != kNone; ++size) {
    const int32_t token = token_of_node_[static_cast<size_t>(node)];
    if (token != kNone) {
      best = {&tokens_[static_cast<size_t>(token)], size};
    }
    if (size == text.size()) {
      break;
    }
    const auto edge = edges_.find(edge_key(node, text[size]));
    node = edge == edges_.end() ? kNone : edge->second;
  }
  return best;
}

std::vector<Stretch> AddedTokenMatcher::cut(std::string_view text) const {
  std::vector<Stretch> stretches;
  size_t done = 0;  // up to here the text is in `stretches`
  const auto emit_text = [&](size_t end) {
    if (end > done) {
      stretches.push_back({std::nullopt, text.substr(done, end - done)});
    }
  };
  for (size_t at = 0; at < text.size();) {
    const Match match = longest_at(text.substr(at));
    if (match.token == nullptr) {
      ++at;
      continue;
    }
    const size_t match_end = at + match.size;
    const std::string_view before = text.substr(0, at);
    const std::string_view after = text.substr(match_end);
    const AddedToken& token = *match.token;
    if (!token.single_word || (!ends_in_word(before) && !starts_in_word(after))) {
      const size_t begin = std::max(done, at - (token.lstrip ? space_at_end(before) : 0));
      const size_t end = match_end + (token.rstrip ? space_at_start(after) : 0);
      emit_text(begin);
      stretches.push_back({token.id, text.substr(begin, std::max(begin, end) - begin)});
      done = std::max(begin, end);
    }
    at = match_end;
  }
  emit_text(text.size());
  return stretches;
}

}  // namespace titan::text

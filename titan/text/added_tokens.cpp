#include "titan/text/added_tokens.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/characters.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

bool ends_in_word(std::string_view text) {
  if (text.empty()) {
    return false;
  }
  const size_t at = last_utf8(text);
  return is_word(code_point(text.substr(at), text.size() - at));
}

bool starts_in_word(std::string_view text) {
  return !text.empty() && is_word(code_point(text, next_utf8(text).size));
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

AddedTokenMatcher::AddedTokenMatcher(std::vector<Entry> entries)
    : entries_(std::move(entries)) {
  for (const Entry& entry : entries_) {
    for (const char c : entry.spelling) {
      uint8_t& byte_class = byte_class_[static_cast<unsigned char>(c)];
      if (byte_class == 0) {
        // 255 classes are enough: 0xFF is no byte of UTF-8.
        byte_class = static_cast<uint8_t>(num_classes_++);
      }
    }
  }
  next_.assign(num_classes_, kNone);
  depth_.push_back(0);
  entry_.push_back(kNone);
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].spelling.empty()) {
      enter(static_cast<int32_t>(i));
    }
  }
  link();
}

int32_t& AddedTokenMatcher::next(int32_t node, size_t byte_class) {
  return next_[static_cast<size_t>(node) * num_classes_ + byte_class];
}

// The spellings as a trie.
void AddedTokenMatcher::enter(int32_t entry) {
  const std::string& spelling = entries_[static_cast<size_t>(entry)].spelling;
  starts_[static_cast<unsigned char>(spelling[0])] = true;
  int32_t node = 0;
  for (const char c : spelling) {
    const size_t byte_class = byte_class_[static_cast<unsigned char>(c)];
    if (next(node, byte_class) == kNone) {
      const auto added = static_cast<int32_t>(depth_.size());
      next(node, byte_class) = added;
      next_.insert(next_.end(), num_classes_, kNone);
      depth_.push_back(depth_[static_cast<size_t>(node)] + 1);
      entry_.push_back(kNone);
    }
    node = next(node, byte_class);
  }
  entry_[static_cast<size_t>(node)] = entry;
}

// Fills the missing transitions, breadth first: where a byte leads out of the trie, to
// the node of the longest suffix that is in it.
void AddedTokenMatcher::link() {
  std::vector<int32_t> suffix(depth_.size(), 0);
  std::vector<int32_t> queue{0};
  for (size_t i = 0; i < queue.size(); ++i) {
    const int32_t node = queue[i];
    const int32_t shorter = suffix[static_cast<size_t>(node)];
    int32_t& entry = entry_[static_cast<size_t>(node)];
    if (entry == kNone && node != 0) {
      entry = entry_[static_cast<size_t>(shorter)];
    }
    for (size_t c = 0; c < num_classes_; ++c) {
      const int32_t elsewhere = node == 0 ? 0 : next(shorter, c);
      int32_t& child = next(node, c);
      if (child == kNone) {
        child = elsewhere;
      } else {
        suffix[static_cast<size_t>(child)] = elsewhere;
        queue.push_back(child);
      }
    }
  }
}

std::optional<AddedTokenMatcher::Match> AddedTokenMatcher::find(
    std::string_view text, size_t from, size_t end) const {
  std::optional<Match> best;
  size_t node = 0;
  for (size_t at = from; at < end; ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (node == 0 && !best && !starts_[byte]) {
      continue;
    }
    node = static_cast<size_t>(next_[node * num_classes_ + byte_class_[byte]]);
    // Where nothing that starts as early can still end, the match is final.
    if (best && at + 1 - depth_[node] > best->range.begin) {
      break;
    }
    if (entry_[node] != kNone) {
      const Entry& entry = entries_[static_cast<size_t>(entry_[node])];
      const size_t begin = at + 1 - entry.spelling.size();
      if (!best || begin <= best->range.begin) {
        best = {&entry.token, {begin, at + 1}};
      }
    }
  }
  return best;
}

std::vector<Stretch> AddedTokenMatcher::cut(std::string_view text) const {
  const Range whole{0, text.size()};
  return cut(text, {&whole, 1});
}

std::vector<Stretch> AddedTokenMatcher::cut(
    std::string_view text, std::span<const Range> marked) const {
  std::vector<Stretch> stretches;
  size_t done = 0;  // up to here the text is in `stretches`
  const auto emit_text = [&](size_t end) {
    if (end > done) {
      stretches.push_back({std::nullopt, text.substr(done, end - done)});
    }
  };
  size_t at = 0;
  for (const Range& range : marked) {
    at = std::max(at, range.begin);
    while (const std::optional<Match> match = find(text, at, range.end)) {
      const std::string_view before = text.substr(0, match->range.begin);
      const std::string_view after = text.substr(match->range.end);
      const AddedToken& token = *match->token;
      if (!token.single_word || (!ends_in_word(before) && !starts_in_word(after))) {
        const size_t begin =
            std::max(done, before.size() - (token.lstrip ? space_at_end(before) : 0));
        const size_t end = std::max(
            begin, match->range.end + (token.rstrip ? space_at_start(after) : 0));
        emit_text(begin);
        stretches.push_back({token.id, text.substr(begin, end - begin)});
        done = end;
      }
      at = match->range.end;
    }
  }
  emit_text(text.size());
  return stretches;
}

}  // namespace titan::text

#include "titan/text/jinja/text_operations.h"

#include <algorithm>
#include <vector>

namespace titan::text::jinja {
namespace {

Value part(Context& context, const String& string, size_t begin, size_t end) {
  return make_string(context.arena, string.part(begin, end, context.arena));
}

Value finish(Context& context, size_t begin) {
  return make_string(context.arena, context.text.take(begin, context.arena));
}

Value list_of(Context& context, const std::vector<Value>& values) {
  return make_list(context.arena, context.arena.copy(std::span(values)));
}

// A range of bytes.
struct Piece {
  size_t begin;
  size_t end;
};

// The words between white space.
std::vector<Piece> find_words(std::string_view text) {
  std::vector<Piece> words;
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const bool space = is_python_space(character.point);
    if (!space && !in_word) {
      words.push_back({at, at});
    }
    in_word = !space;
    at += character.size;
    if (in_word) {
      words.back().end = at;
    }
  }
  return words;
}

std::vector<Piece> find_pieces(std::string_view text, std::string_view separator) {
  std::vector<Piece> pieces{{0, text.size()}};
  for (size_t at = text.find(separator); at != text.npos;
       at = text.find(separator, at + separator.size())) {
    pieces.back().end = at;
    pieces.push_back({at + separator.size(), text.size()});
  }
  return pieces;
}

// The same, found from the end, which matters where separators overlap.
std::vector<Piece> find_pieces_from_end(
    std::string_view text, std::string_view separator) {
  std::vector<Piece> pieces{{0, text.size()}};
  size_t end = text.size();
  while (end >= separator.size()) {
    const size_t at = text.rfind(separator, end - separator.size());
    if (at == text.npos) {
      break;
    }
    pieces.back().begin = at + separator.size();
    pieces.push_back({0, at});
    end = at;
  }
  std::ranges::reverse(pieces);
  return pieces;
}

bool by_white_space(const Value& separator) {
  return separator.is_missing() || separator.is(Kind::kNone);
}

std::string_view separator_text(Context& context, const Value& separator) {
  if (!context.defined(separator).is(Kind::kString)) {
    context.fail("split: expected a str, got {}", type_name(separator));
  }
  if (separator.text().empty()) {
    context.fail("split: the separator is empty");
  }
  return separator.text();
}

Value make_pieces(
    Context& context, const String& string, const std::vector<Piece>& pieces) {
  context.count(pieces.size());
  std::vector<Value> values;
  for (const Piece& piece : pieces) {
    values.push_back(part(context, string, piece.begin, piece.end));
  }
  return list_of(context, values);
}

// The bytes of the line end at `at`; 0: there is none.
size_t line_end_at(std::string_view text, size_t at) {
  const Character character = character_at(text, at);
  switch (character.point) {
    case '\r':
      return at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 1;
    case '\n':
    case '\v':
    case '\f':
    case 0x1C:
    case 0x1D:
    case 0x1E:
    case 0x85:
    case 0x2028:
    case 0x2029:
      return character.size;
    default:
      return 0;
  }
}

}  // namespace

Value strip(Context& context, const String& string, const Value& characters, Side side) {
  std::string_view chosen;
  const std::string_view* set = nullptr;
  if (!characters.is_missing() && !characters.is(Kind::kNone)) {
    if (!context.defined(characters).is(Kind::kString)) {
      context.fail("strip: expected a str, got {}", type_name(characters));
    }
    chosen = characters.text();
    set = &chosen;
  }
  const std::string_view text = string.text;
  const size_t begin = side == Side::kRight ? 0 : prefix_of(text, set);
  const size_t tail = side == Side::kLeft ? 0 : suffix_of(text.substr(begin), set);
  return part(context, string, begin, text.size() - tail);
}

Value replace_text(
    Context& context,
    const String& string,
    const String& from,
    const String& to,
    int64_t count) {
  const size_t begin = context.text.size();
  const std::string_view text = string.text;
  size_t done = 0;
  size_t at = 0;
  for (; count != 0; --count) {
    at = text.find(from.text, at);
    if (at == text.npos) {
      break;
    }
    context.count(1);
    context.text.append(string, done, at);
    context.text.append(to);
    done = at + from.text.size();
    at = done;
    if (from.text.empty()) {  // found before every character and at the end
      if (at == text.size()) {
        break;
      }
      at += character_at(text, at).size;
    }
  }
  context.text.append(string, done, text.size());
  return finish(context, begin);
}

Value split_text(
    Context& context, const String& string, const Value& separator, int64_t count) {
  std::vector<Piece> pieces =
      by_white_space(separator)
          ? find_words(string.text)
          : find_pieces(string.text, separator_text(context, separator));
  if (count >= 0 && pieces.size() > static_cast<size_t>(count)) {
    pieces.resize(static_cast<size_t>(count) + 1);
    pieces.back().end = string.text.size();
  }
  return make_pieces(context, string, pieces);
}

Value split_text_from_end(
    Context& context, const String& string, const Value& separator, int64_t count) {
  std::vector<Piece> pieces =
      by_white_space(separator)
          ? find_words(string.text)
          : find_pieces_from_end(string.text, separator_text(context, separator));
  if (count >= 0 && pieces.size() > static_cast<size_t>(count)) {
    pieces.erase(pieces.begin(), pieces.end() - static_cast<ptrdiff_t>(count) - 1);
    pieces.front().begin = 0;
  }
  return make_pieces(context, string, pieces);
}

std::span<const Value> split_lines(
    Context& context, const String& string, bool keep_ends) {
  std::vector<Value> lines;
  size_t begin = 0;
  for (size_t at = 0; at < string.text.size();) {
    const size_t ending = line_end_at(string.text, at);
    if (ending == 0) {
      at += character_at(string.text, at).size;
      continue;
    }
    lines.push_back(part(context, string, begin, keep_ends ? at + ending : at));
    at += ending;
    begin = at;
  }
  if (begin < string.text.size()) {
    lines.push_back(part(context, string, begin, string.text.size()));
  }
  context.count(lines.size());
  return context.arena.copy(std::span<const Value>(lines));
}

Value with_case(Context& context, const String& string, Case target) {
  const std::string text = change_case(string.text, target);
  String result{context.arena.copy(text), string.mark, string.runs};
  if (!string.runs.empty() && !is_ascii(string.text)) {
    result.mark = string.strongest_mark();
    result.runs = {};
  }
  return make_string(context.arena, result);
}

Value escape_html(Context& context, const String& string) {
  if (string.is_safe) {
    return make_string(context.arena, string);
  }
  const size_t begin = context.text.size();
  size_t done = 0;
  for (size_t at = 0; at < string.text.size(); ++at) {
    constexpr std::string_view kSpecial = "&<>\"'";
    constexpr std::string_view kNames[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};
    const size_t which = kSpecial.find(string.text[at]);
    if (which != kSpecial.npos) {
      context.text.append(string, done, at);
      context.text.append(kNames[which], string.strongest_mark());
      done = at + 1;
    }
  }
  context.text.append(string, done, string.text.size());
  String escaped = context.text.take(begin, context.arena);
  escaped.is_safe = true;
  return make_string(context.arena, escaped);
}

Value reverse_text(Context& context, const String& string) {
  const std::span<const Value> characters = split_characters(string, context.arena);
  context.count(characters.size());
  const size_t begin = context.text.size();
  for (size_t i = characters.size(); i-- > 0;) {
    context.text.append(characters[i].string());
  }
  return finish(context, begin);
}

}  // namespace titan::text::jinja

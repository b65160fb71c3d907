#include "titan/text/pre_tokenizer.h"

#include <utility>

#include "titan/base/error.h"
#include "titan/text/byte_alphabet.h"
#include "titan/text/characters.h"
#include "titan/text/component.h"
#include "titan/text/regex.h"
#include "titan/text/split_behavior.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

// GPT-2's split pattern (Radford et al. 2019, encoder.py): contractions, words, numbers
// and signs with one space before them, and white space.
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::vector<Range> find_regex(const Regex& regex, const Pieces& pieces, const Range& in) {
  std::vector<Range> found;
  regex.for_each_match(pieces.piece(in), [&](size_t begin, size_t end) {
    found.push_back({in.begin + begin, in.begin + end});
  });
  return found;
}

std::vector<Range> find_string(
    const std::string& wanted, const Pieces& pieces, const Range& in) {
  std::vector<Range> found;
  const std::string_view text = pieces.piece(in);
  for (size_t at = wanted.empty() ? std::string_view::npos : text.find(wanted);
       at != std::string_view::npos;
       at = text.find(wanted, at + wanted.size())) {
    found.push_back({in.begin + at, in.begin + at + wanted.size()});
  }
  return found;
}

std::vector<Range> find_digits(const Pieces& pieces, const Range& in) {
  std::vector<Range> found;
  for (size_t at = in.begin; at < in.end;) {
    const std::string_view rest = pieces.piece({at, in.end});
    const size_t size = next_utf8(rest).size;
    if (is_numeric(code_point(rest, size))) {
      found.push_back({at, at + size});
    }
    at += size;
  }
  return found;
}

// Replaces each piece by the pieces that `cut(piece)` gives.
template <class Cut>
void split_each(Pieces& pieces, Cut cut) {
  std::vector<Range> ranges;
  for (const Range& piece : pieces.ranges) {
    const std::vector<Range> parts = cut(piece);
    ranges.insert(ranges.end(), parts.begin(), parts.end());
  }
  pieces.ranges = std::move(ranges);
}

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex, const std::string& where)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex) {
    if (use_regex) {
      regex_ = std::make_unique<Regex>(std::string(kGpt2Pattern), where);
    }
  }

  void split(Pieces& pieces) const override {
    if (add_prefix_space_) {
      add_spaces(pieces);
    }
    if (use_regex_) {
      split_each(pieces, [&](const Range& piece) {
        return split_at(
            piece, find_regex(*regex_, pieces, piece), SplitBehavior::kIsolated);
      });
    }
    spell_bytes(pieces);
  }

 private:
  static void add_spaces(Pieces& pieces) {
    Pieces spaced;
    for (const Range& range : pieces.ranges) {
      const std::string_view piece = pieces.piece(range);
      const size_t begin = spaced.text.size();
      if (piece.front() != ' ') {
        spaced.text += ' ';
      }
      spaced.text += piece;
      spaced.ranges.push_back({begin, spaced.text.size()});
    }
    pieces = std::move(spaced);
  }

  static void spell_bytes(Pieces& pieces) {
    Pieces spelled;
    spelled.text.reserve(pieces.text.size() * 5 / 4);
    spelled.ranges.reserve(pieces.ranges.size());
    for (const Range& range : pieces.ranges) {
      const size_t begin = spelled.text.size();
      for (const char c : pieces.piece(range)) {
        spelled.text += byte_symbol(static_cast<uint8_t>(c));
      }
      spelled.ranges.push_back({begin, spelled.text.size()});
    }
    pieces = std::move(spelled);
  }

  bool add_prefix_space_;
  bool use_regex_;
  std::unique_ptr<Regex> regex_;
};

class Digits : public PreTokenizer {
 public:
  explicit Digits(bool individual) : individual_(individual) {}

  void split(Pieces& pieces) const override {
    split_each(pieces, [&](const Range& piece) {
      return split_at(
          piece,
          find_digits(pieces, piece),
          individual_ ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
    });
  }

 private:
  bool individual_;
};

// Cuts at a fixed string or, where `regex` is set, at the matches of a pattern.
class Split : public PreTokenizer {
 public:
  Split(
      std::string text, std::unique_ptr<Regex> regex, SplitBehavior behavior, bool invert)
      : text_(std::move(text)),
        regex_(std::move(regex)),
        behavior_(behavior),
        invert_(invert) {}

  void split(Pieces& pieces) const override {
    split_each(pieces, [&](const Range& piece) {
      const std::vector<Range> found =
          regex_ ? find_regex(*regex_, pieces, piece) : find_string(text_, pieces, piece);
      return split_at(piece, found, behavior_, invert_);
    });
  }

 private:
  std::string text_;
  std::unique_ptr<Regex> regex_;
  SplitBehavior behavior_;
  bool invert_;
};

class Sequence : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> parts)
      : parts_(std::move(parts)) {}

  void split(Pieces& pieces) const override {
    for (const auto& part : parts_) {
      part->split(pieces);
    }
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

std::unique_ptr<PreTokenizer> make_byte_level(
    const Json& node, const std::string& where) {
  return std::make_unique<ByteLevel>(
      json_get<bool>(node, "add_prefix_space", where, true),
      json_get<bool>(node, "use_regex", where, true),
      where);
}

std::unique_ptr<PreTokenizer> make_digits(const Json& node, const std::string& where) {
  return std::make_unique<Digits>(
      json_get<bool>(node, "individual_digits", where, false));
}

std::unique_ptr<PreTokenizer> make_split(const Json& node, const std::string& where) {
  const auto behavior = json_get<std::string>(node, "behavior", where);
  const bool invert = json_get<bool>(node, "invert", where, false);
  const auto pattern = node.find("pattern");
  if (pattern == node.end() || !pattern->is_object() || pattern->size() != 1) {
    fail<FormatError>(
        "{}: pattern: expected {{\"Regex\": ...}} or {{\"String\": ...}}", where);
  }
  const std::string kind = pattern->begin().key();
  if (kind != "Regex" && kind != "String") {
    fail<FormatError>("{}: pattern: expected Regex or String, got {}", where, kind);
  }
  auto text = json_get<std::string>(*pattern, kind, where + ".pattern");
  std::unique_ptr<Regex> regex;
  if (kind == "Regex") {
    regex = std::make_unique<Regex>(text, where + ".pattern");
  }
  return std::make_unique<Split>(
      std::move(text), std::move(regex), parse_split_behavior(behavior, where), invert);
}

std::unique_ptr<PreTokenizer> make_pre_tokenizer_sequence(
    const Json& node, const std::string& where) {
  return std::make_unique<Sequence>(
      make_sequence<PreTokenizer>(node, "pretokenizers", where, make_pre_tokenizer));
}

constexpr Component<PreTokenizer> kPreTokenizers[] = {
    {"ByteLevel", make_byte_level},
    {"Digits", make_digits},
    {"Split", make_split},
    {"Sequence", make_pre_tokenizer_sequence}};

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(
    const Json& node, const std::string& where) {
  return make_component<PreTokenizer>(node, where, kPreTokenizers);
}

}  // namespace titan::text

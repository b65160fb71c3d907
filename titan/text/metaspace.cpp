// The pre-tokenizer Metaspace: spaces become marks, and words begin with one.

#include <utility>

#include "titan/base/error.h"
#include "titan/text/pre_tokenizer_kinds.h"
#include "titan/text/prepend_scheme.h"
#include "titan/text/split_behavior.h"

namespace titan::text {
namespace {

class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string mark, PrependScheme scheme, bool split)
      : mark_(std::move(mark)), scheme_(scheme), split_(split) {}

  void split(Pieces& pieces) const override {
    Pieces marked{.at_start = pieces.at_start};
    for (const Range& range : pieces.ranges) {
      const size_t begin = marked.text.size();
      const bool first = pieces.at_start && range.begin == 0;
      append(
          pieces.piece(range),
          scheme_ == PrependScheme::kAlways ||
              (scheme_ == PrependScheme::kFirst && first),
          marked.text);
      marked.ranges.push_back({begin, marked.text.size()});
    }
    pieces = std::move(marked);
    if (split_) {
      split_each(
          pieces,
          SplitBehavior::kMergedWithNext,
          false,
          [&](std::string_view text, auto& found) {
            for (size_t at = text.find(mark_); at != text.npos;
                 at = text.find(mark_, at + mark_.size())) {
              found.push_back({at, at + mark_.size()});
            }
          });
    }
  }

 private:
  void append(std::string_view piece, bool prepend, std::string& out) const {
    if (prepend && !piece.starts_with(' ') && !piece.starts_with(mark_)) {
      out += mark_;
    }
    for (const char c : piece) {
      if (c == ' ') {
        out += mark_;
      } else {
        out += c;
      }
    }
  }

  std::string mark_;
  PrependScheme scheme_;
  bool split_;
};

}  // namespace

PrependScheme read_prepend_scheme(const Json& node, const std::string& where) {
  const bool add_prefix_space = json_get<bool>(node, "add_prefix_space", where, true);
  const auto scheme = json_get<std::string>(
      node, "prepend_scheme", where, add_prefix_space ? "always" : "never");
  if (scheme == "always") {
    return PrependScheme::kAlways;
  }
  if (scheme == "first") {
    return PrependScheme::kFirst;
  }
  if (scheme == "never") {
    return PrependScheme::kNever;
  }
  fail<FormatError>(
      "{}: prepend_scheme: expected always, first or never, got {}", where, scheme);
}

std::unique_ptr<PreTokenizer> make_metaspace_pre_tokenizer(
    const Json& node, const std::string& where) {
  return std::make_unique<Metaspace>(
      json_get<std::string>(node, "replacement", where),
      read_prepend_scheme(node, where),
      json_get<bool>(node, "split", where, true));
}

}  // namespace titan::text

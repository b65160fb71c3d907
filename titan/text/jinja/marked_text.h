#pragma once
// Text that knows for each byte where it comes from.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "titan/text/jinja/arena.h"

namespace titan::text::jinja {

struct Mark {
  uint32_t source = 0;      // 0: the template itself; else as the caller numbered it
  uint32_t generation = 0;  // the {% generation %} block, counted from 1; 0: in none

  bool operator==(const Mark&) const = default;
};

// The bytes from the end of the run before up to `end`.
struct Run {
  size_t end = 0;
  Mark mark;

  bool operator==(const Run&) const = default;
};

// Immutable UTF-8 with marks; the bytes are owned by an arena or by the caller's JSON.
struct String {
  std::string_view text;
  Mark mark;                  // of every byte, where `runs` is empty
  std::span<const Run> runs;  // else they cover `text`, neighbours with different marks
  bool is_safe = false;  // of the filters safe and escape: `+` escapes the other side

  // The mark of all bytes, or where they differ the first that is not the template's.
  [[nodiscard]] Mark strongest_mark() const;
  // Bytes [begin, end), sharing the text.
  [[nodiscard]] String part(size_t begin, size_t end, Arena& arena) const;
};

// The strings one after the other, copied once. LimitReached beyond `limit` bytes.
[[nodiscard]] String concatenate(
    std::span<const String* const> strings, size_t limit, Arena& arena);

// What a template printed, and where each byte comes from.
struct Output {
  std::string text;
  std::vector<Run> runs;  // none is empty
};

// Grows at its end, and gives its end back: used as one stack for the output and for all
// text under construction.
class TextBuilder {
 public:
  explicit TextBuilder(size_t limit) : limit_(limit) {}

  [[nodiscard]] size_t size() const { return text_.size(); }

  void append(std::string_view text, Mark mark) {
    if (text.empty()) {
      return;
    }
    if (text.size() > limit_ - text_.size()) {
      throw LimitReached{"size of text"};
    }
    text_ += text;
    if (!runs_.empty() && runs_.back().mark == mark) {
      runs_.back().end = text_.size();
    } else {
      runs_.push_back({text_.size(), mark});
    }
  }

  void append(const String& string) {
    if (string.runs.empty()) {
      append(string.text, string.mark);
      return;
    }
    size_t begin = 0;
    for (const Run& run : string.runs) {
      append(string.text.substr(begin, run.end - begin), run.mark);
      begin = run.end;
    }
  }

  void append(const String& string, size_t begin, size_t end);

  // Removes what was appended since the size was `begin`, as a string in `arena`.
  [[nodiscard]] String take(size_t begin, Arena& arena);

  // Gives the bytes from `begin` that are in no generation block to block `generation`.
  void set_generation(size_t begin, uint32_t generation);

  [[nodiscard]] Output finish() && { return {std::move(text_), std::move(runs_)}; }

 private:
  // The runs of the bytes from `begin`, which become the last ones in runs_ on their own.
  std::vector<Run>::iterator split_at(size_t begin);

  size_t limit_;
  std::string text_;
  std::vector<Run> runs_;
};

}  // namespace titan::text::jinja

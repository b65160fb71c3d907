#include "titan/text/jinja/marked_text.h"

#include <algorithm>
#include <cstring>

namespace titan::text::jinja {
namespace {

// The run that byte `at` is in.
template <class Runs>
auto run_of(Runs& runs, size_t at) {
  return std::upper_bound(runs.begin(), runs.end(), at, [](size_t byte, const Run& run) {
    return byte < run.end;
  });
}

}  // namespace

Mark String::strongest_mark() const {
  if (runs.empty()) {
    return mark;
  }
  for (const Run& run : runs) {
    if (run.mark.source != 0) {
      return run.mark;
    }
  }
  return runs.front().mark;
}

String String::part(size_t begin, size_t end, Arena& arena) const {
  const std::string_view bytes = text.substr(begin, end - begin);
  if (runs.empty() || bytes.empty()) {
    return {bytes, mark, {}, is_safe};
  }
  const auto first = run_of(runs, begin);
  const auto last = run_of(runs, end - 1);
  if (first == last) {
    return {bytes, first->mark, {}, is_safe};
  }
  const std::span<Run> cut = arena.make_array<Run>(static_cast<size_t>(last - first) + 1);
  std::transform(first, last + 1, cut.begin(), [&](const Run& run) {
    return Run{std::min(run.end, end) - begin, run.mark};
  });
  return {bytes, {}, cut, is_safe};
}

String concatenate(std::span<const String* const> strings, size_t limit, Arena& arena) {
  size_t size = 0;
  size_t num_runs = 0;
  for (const String* string : strings) {
    size += string->text.size();
    num_runs += std::max<size_t>(string->runs.size(), 1);
  }
  if (size > limit) {
    throw LimitReached{"size of text"};
  }
  char* const bytes = static_cast<char*>(arena.allocate(size, 1));
  const std::span<Run> runs = arena.make_array<Run>(num_runs);
  size_t at = 0;
  size_t used = 0;
  const auto add_run = [&](size_t end, Mark mark) {
    if (used > 0 && runs[used - 1].mark == mark) {
      runs[used - 1].end = end;
    } else if (end > at) {
      runs[used++] = {end, mark};
    }
  };
  for (const String* string : strings) {
    if (string->text.empty()) {
      continue;
    }
    std::memcpy(bytes + at, string->text.data(), string->text.size());
    for (const Run& run : string->runs) {
      add_run(at + run.end, run.mark);
    }
    if (string->runs.empty()) {
      add_run(at + string->text.size(), string->mark);
    }
    at += string->text.size();
  }
  const std::string_view text(bytes, size);
  if (used == 1) {
    return {text, runs[0].mark, {}, false};
  }
  return {text, {}, runs.first(used), false};
}

void TextBuilder::append(const String& string, size_t begin, size_t end) {
  if (string.runs.empty()) {
    append(string.text.substr(begin, end - begin), string.mark);
    return;
  }
  auto run = run_of(string.runs, begin);
  while (begin < end) {
    const size_t stop = std::min(run->end, end);
    append(string.text.substr(begin, stop - begin), run->mark);
    begin = stop;
    ++run;
  }
}

std::vector<Run>::iterator TextBuilder::split_at(size_t begin) {
  auto first = run_of(runs_, begin);
  const size_t run_begin = first == runs_.begin() ? 0 : (first - 1)->end;
  if (first != runs_.end() && run_begin < begin) {
    first = runs_.insert(first, {begin, first->mark}) + 1;
  }
  return first;
}

String TextBuilder::take(size_t begin, Arena& arena) {
  String result{arena.copy(std::string_view(text_).substr(begin)), {}, {}, false};
  if (begin == text_.size()) {
    return result;
  }
  const auto first = split_at(begin);
  if (runs_.end() - first == 1) {
    result.mark = first->mark;
  } else {
    const std::span<Run> runs =
        arena.make_array<Run>(static_cast<size_t>(runs_.end() - first));
    std::transform(first, runs_.end(), runs.begin(), [&](const Run& run) {
      return Run{run.end - begin, run.mark};
    });
    result.runs = runs;
  }
  text_.resize(begin);
  runs_.erase(first, runs_.end());
  return result;
}

void TextBuilder::set_generation(size_t begin, uint32_t generation) {
  for (auto run = split_at(begin); run != runs_.end(); ++run) {
    if (run->mark.generation == 0) {
      run->mark.generation = generation;
    }
  }
}

}  // namespace titan::text::jinja

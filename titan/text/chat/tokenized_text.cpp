#include "titan/text/chat/tokenized_text.h"

#include <algorithm>
#include <utility>

#include "titan/text/chat/conversation.h"
#include "titan/text/chat/token_offsets.h"
#include "titan/text/range.h"

namespace titan::text::chat {
namespace {

using jinja::Run;

// The parts that the template wrote.
std::vector<Range> template_ranges(std::span<const Run> runs) {
  std::vector<Range> ranges;
  size_t begin = 0;
  for (const Run& run : runs) {
    if (run.mark.source == kTemplateSource) {
      if (!ranges.empty() && ranges.back().end == begin) {
        ranges.back().end = run.end;
      } else {
        ranges.push_back({begin, run.end});
      }
    }
    begin = run.end;
  }
  return ranges;
}

// The number of tokens that both begin with.
size_t common_size(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

uint32_t source_of(size_t message) {
  return static_cast<uint32_t>(kFirstMessageSource + message);
}

// The first token of [begin, end) whose source fulfils `wanted`; `end` where there is
// none.
template <class Wanted>
size_t first_token(
    std::span<const uint32_t> sources, size_t begin, size_t end, Wanted&& wanted) {
  const auto first = sources.begin();
  return static_cast<size_t>(
      std::find_if(
          first + static_cast<ptrdiff_t>(begin),
          first + static_cast<ptrdiff_t>(end),
          wanted) -
      first);
}

// One past the last such token; `begin` where there is none.
template <class Wanted>
size_t end_of_tokens(
    std::span<const uint32_t> sources, size_t begin, size_t end, Wanted&& wanted) {
  while (end > begin && !wanted(sources[end - 1])) {
    --end;
  }
  return end;
}

// Looks for the end of a turn.
class TurnEnds {
 public:
  TurnEnds(std::span<const int32_t> ids, std::span<const int32_t> ends)
      : ids_(ids), ends_(ends) {}

  [[nodiscard]] bool is_at(size_t token) const {
    return token < ids_.size() && std::ranges::find(ends_, ids_[token]) != ends_.end();
  }

  // The first one of [begin, end); `end` where there is none.
  [[nodiscard]] size_t first(size_t begin, size_t end) const {
    while (begin < end && !is_at(begin)) {
      ++begin;
    }
    return begin;
  }

  // The last one of [begin, end), or nothing.
  [[nodiscard]] std::optional<size_t> last(size_t begin, size_t end) const {
    while (end > begin) {
      if (is_at(--end)) {
        return end;
      }
    }
    return std::nullopt;
  }

 private:
  std::span<const int32_t> ids_;
  std::span<const int32_t> ends_;
};

}  // namespace

TokenRange TokenizedText::tokens_of(size_t begin, size_t end) const {
  if (begin == end) {
    return {};
  }
  const auto first = std::ranges::upper_bound(ends, begin);
  const auto last = std::ranges::lower_bound(ends, end);
  return {
      static_cast<size_t>(first - ends.begin()),
      static_cast<size_t>(last - ends.begin()) + 1};
}

std::vector<uint32_t> TokenizedText::sources() const {
  std::vector<uint32_t> sources(ids.size(), kTemplateSource);
  size_t run = 0;
  for (size_t token = 0; token < ids.size(); ++token) {
    while (run < runs.size() && runs[run].end <= begin(token)) {
      ++run;
    }
    size_t run_begin = begin(token);
    for (size_t i = run; i < runs.size() && run_begin < ends[token]; ++i) {
      if (runs[i].mark.source != kTemplateSource) {
        sources[token] = runs[i].mark.source;
        break;
      }
      run_begin = runs[i].end;
    }
  }
  return sources;
}

TokenizedText tokenize_output(
    const Tokenizer& tokenizer, jinja::Output output, bool parse_special) {
  TokenizedText result{std::move(output.text), std::move(output.runs), {}, {}};
  result.ids = parse_special
                   ? tokenizer.encode(result.text)
                   : tokenizer.encode_marked(result.text, template_ranges(result.runs));
  result.ends = token_ends(tokenizer, result.text, result.ids);
  return result;
}

Turn find_turn(
    const TokenizedText& whole,
    size_t index,
    const TokenizedText& prompt,
    const TokenizedText& until,
    std::span<const int32_t> turn_ends) {
  const auto refuse = [&](std::string_view reason) {
    return Turn{{}, fmt::format("messages[{}]: {}", index, reason)};
  };
  const std::vector<uint32_t> sources = whole.sources();
  const size_t size = sources.size();
  const auto is_own = [&](uint32_t source) { return source == source_of(index); };
  const auto is_later = [&](uint32_t source) { return source > source_of(index); };
  const auto is_data = [](uint32_t source) { return source != kTemplateSource; };

  const size_t common = common_size(whole.ids, prompt.ids);
  const std::vector<uint32_t> prompt_sources = prompt.sources();
  if (common < end_of_tokens(prompt_sources, 0, prompt_sources.size(), is_data)) {
    return refuse("the template writes the messages before it differently later");
  }
  const size_t begin = std::min(common, first_token(sources, 0, size, is_own));
  const size_t later = first_token(sources, 0, size, is_later);
  if (later < begin) {
    return refuse("the template writes a later message before it");
  }
  const TurnEnds whole_ends(whole.ids, turn_ends);
  const size_t size_until = until.ids.size();
  const size_t end_until =
      TurnEnds(until.ids, turn_ends)
          .first(
              end_of_tokens(
                  until.sources(), std::min(begin, size_until), size_until, is_own),
              size_until);
  if (end_until < size_until && common_size(whole.ids, until.ids) >= end_until &&
      whole_ends.is_at(end_until)) {
    return {{begin, end_until + 1}, ""};
  }
  // What comes next may repeat some of the message after its end, so that only text
  // before the last end in reach counts.
  const std::optional<size_t> last_end = whole_ends.last(begin, later);
  if (!last_end) {
    return later < size ? refuse("the template writes no end-of-turn token after it")
                        : Turn{{begin, size}, ""};
  }
  const auto is_next = [&](uint32_t source) { return source == source_of(index + 1); };
  if (later < size && first_token(sources, 0, size, is_next) == size) {
    return refuse("its end cannot be told, since the next message has no text");
  }
  const size_t text_end = end_of_tokens(sources, begin, *last_end, is_own);
  return {{begin, whole_ends.first(text_end, *last_end) + 1}, ""};
}

std::vector<TokenRange> generation_spans(
    const TokenizedText& whole, std::optional<size_t> last_message) {
  struct Block {
    uint32_t number;
    size_t begin;
    size_t end;
    bool has_last;
  };

  std::vector<Block> blocks;
  size_t begin = 0;
  for (const Run& run : whole.runs) {
    const bool is_last = last_message && run.mark.source == source_of(*last_message);
    if (run.mark.generation != 0) {
      if (blocks.empty() || blocks.back().number != run.mark.generation) {
        blocks.push_back({run.mark.generation, begin, run.end, false});
      }
      blocks.back().end = run.end;
      blocks.back().has_last = blocks.back().has_last || is_last;
    }
    begin = run.end;
  }
  if (last_message && !blocks.empty()) {
    const auto first = std::ranges::find_if(blocks, &Block::has_last);
    blocks.erase(blocks.begin(), first == blocks.end() ? blocks.end() - 1 : first);
  }
  std::vector<TokenRange> spans;
  for (const Block& block : blocks) {
    TokenRange span = whole.tokens_of(block.begin, block.end);
    if (!spans.empty()) {  // a token on the border belongs to the first
      span.begin = std::max(span.begin, spans.back().end);
    }
    if (span.begin < span.end) {
      spans.push_back(span);
    }
  }
  return spans;
}

}  // namespace titan::text::chat

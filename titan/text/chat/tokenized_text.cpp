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

uint32_t source_of(size_t message) {
  return static_cast<uint32_t>(kFirstMessageSource + message);
}

// The bytes that both begin with; compared in blocks, since texts may be long and alike.
size_t common_size(std::string_view a, std::string_view b) {
  constexpr size_t kBlock = 256;
  const size_t size = std::min(a.size(), b.size());
  size_t at = 0;
  while (at + kBlock <= size && a.compare(at, kBlock, b, at, kBlock) == 0) {
    at += kBlock;
  }
  while (at < size && a[at] == b[at]) {
    ++at;
  }
  return at;
}

// Where the first run with a source like that begins; `otherwise` where there is none.
template <class Wanted>
size_t begin_of(std::span<const Run> runs, Wanted&& wanted, size_t otherwise) {
  size_t begin = 0;
  for (const Run& run : runs) {
    if (wanted(run.mark.source)) {
      return begin;
    }
    begin = run.end;
  }
  return otherwise;
}

// Where the last such run that begins before `limit` ends; 0 where there is none.
template <class Wanted>
size_t end_of(std::span<const Run> runs, Wanted&& wanted, size_t limit) {
  size_t begin = 0;
  size_t end = 0;
  for (const Run& run : runs) {
    if (wanted(run.mark.source) && begin < limit) {
      end = run.end;
    }
    begin = run.end;
  }
  return end;
}

// The first token that ends after byte `at`.
size_t token_at(const TokenizedText& text, size_t at) {
  return static_cast<size_t>(std::ranges::upper_bound(text.ends, at) - text.ends.begin());
}

// The first token of [begin, end) that ends a turn; `end` where there is none.
size_t find_turn_end(
    const TokenizedText& text,
    size_t begin,
    size_t end,
    std::span<const int32_t> turn_ends) {
  while (begin < end &&
         std::ranges::find(turn_ends, text.ids[begin]) == turn_ends.end()) {
    ++begin;
  }
  return begin;
}

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
    const jinja::Output& prompt,
    const jinja::Output& until,
    std::span<const int32_t> turn_ends) {
  const auto refuse = [&](std::string_view reason) {
    return Turn{{}, fmt::format("messages[{}]: {}", index, reason)};
  };
  const auto is_own = [&](uint32_t source) { return source == source_of(index); };
  const auto is_later = [&](uint32_t source) { return source > source_of(index); };
  const auto is_next = [&](uint32_t source) { return source == source_of(index + 1); };
  const auto is_data = [](uint32_t source) { return source != kTemplateSource; };
  const size_t size = whole.text.size();

  const size_t common = common_size(whole.text, prompt.text);
  if (common < end_of(prompt.runs, is_data, prompt.text.size())) {
    return refuse("the template writes the messages before it differently later");
  }
  const size_t begin = std::min(common, begin_of(whole.runs, is_own, size));
  const size_t later = begin_of(whole.runs, is_later, size);
  if (later < begin) {
    return refuse("the template writes a later message before it");
  }
  const size_t first = token_at(whole, begin);
  const size_t limit = later < size ? token_at(whole, later) : whole.ids.size();
  const auto turn_end_after = [&](size_t text_end) {
    return find_turn_end(
        whole, token_at(whole, std::max(begin, text_end)), limit, turn_ends);
  };

  const size_t same_until = common_size(whole.text, until.text);
  const size_t text_end = end_of(until.runs, is_own, until.text.size());
  if (same_until >= text_end) {
    const size_t end = turn_end_after(text_end);
    if (end < limit && whole.begin(end) <= same_until) {
      return {{first, end + 1}, ""};
    }
  }
  // What comes next may repeat some of the message after its end, so that only text
  // before the last end in reach counts.
  size_t last_end = find_turn_end(whole, first, limit, turn_ends);
  if (last_end == limit) {
    return later < size ? refuse("the template writes no end-of-turn token after it")
                        : Turn{{first, limit}, ""};
  }
  if (later < size && begin_of(whole.runs, is_next, size) == size) {
    return refuse("its end cannot be told, since the next message has no text");
  }
  for (size_t next = last_end; next < limit;
       next = find_turn_end(whole, next + 1, limit, turn_ends)) {
    last_end = next;
  }
  const size_t own_end = end_of(whole.runs, is_own, whole.begin(last_end));
  return {{first, std::min(turn_end_after(own_end), last_end) + 1}, ""};
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

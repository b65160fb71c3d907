#include "titan/text/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/stream_decoder.h"
#include "titan/text/tokenizer_file.h"
#include "titan/text/tokenizer_state.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

// Encodes text without added tokens; `at_start`: the input begins with it.
void encode_text(
    const TokenizerState& state,
    std::string text,
    bool at_start,
    std::vector<int32_t>& ids) {
  Pieces pieces = Pieces::whole(std::move(text), at_start);
  if (state.pre_tokenizer) {
    state.pre_tokenizer->split(pieces);
  }
  state.model->encode(pieces.text, pieces.ranges, ids);
}

// The parts of `marked` within text[begin, end), counted from `begin`. Drops the ranges
// that end before from `marked`.
std::vector<Range> take_ranges(std::span<const Range>& marked, size_t begin, size_t end) {
  while (!marked.empty() && marked.front().end <= begin) {
    marked = marked.subspan(1);
  }
  std::vector<Range> taken;
  for (const Range& range : marked) {
    if (range.begin >= end) {
      break;
    }
    taken.push_back(
        {std::max(range.begin, begin) - begin, std::min(range.end, end) - begin});
  }
  return taken;
}

// Text after the normalizer, and where the marked ranges have gone.
struct NormalizedText {
  std::string text;
  std::vector<Range> marked;
};

NormalizedText normalize_marked(
    const TokenizerState& state, std::string_view text, std::vector<Range> marked) {
  NormalizedText whole{state.normalize(std::string(text)), std::move(marked)};
  if (whole.text == text) {
    return whole;
  }
  if (whole.marked.size() == 1 &&
      whole.marked[0].end - whole.marked[0].begin == text.size()) {
    whole.marked[0].end = whole.text.size();
    return whole;
  }
  NormalizedText parts;
  size_t done = 0;
  for (const Range& range : whole.marked) {
    parts.text += state.normalize(std::string(text.substr(done, range.begin - done)));
    const size_t begin = parts.text.size();
    done = range.end;
    parts.text +=
        state.normalize(std::string(text.substr(range.begin, done - range.begin)));
    parts.marked.push_back({begin, parts.text.size()});
  }
  parts.text += state.normalize(std::string(text.substr(done)));
  return parts.text == whole.text ? parts : NormalizedText{std::move(whole.text), {}};
}

// Added tokens are cut out of the marked ranges twice: as written, then from the
// normalized rest.
void encode_with_added_tokens(
    const TokenizerState& state,
    std::string_view text,
    std::span<const Range> marked,
    std::vector<int32_t>& ids) {
  for (const Stretch& stretch : state.exact_tokens.cut(text, marked)) {
    if (stretch.token) {
      ids.push_back(*stretch.token);
      continue;
    }
    const auto begin = static_cast<size_t>(stretch.text.data() - text.data());
    const NormalizedText normalized = normalize_marked(
        state, stretch.text, take_ranges(marked, begin, begin + stretch.text.size()));
    for (const Stretch& inner :
         state.normalized_tokens.cut(normalized.text, normalized.marked)) {
      if (inner.token) {
        ids.push_back(*inner.token);
      } else {
        const bool at_start = begin == 0 && inner.text.data() == normalized.text.data();
        encode_text(state, std::string(inner.text), at_start, ids);
      }
    }
  }
}

void check_utf8(std::string_view text) {
  if (const std::optional<size_t> offset = find_invalid_utf8(text)) {
    fail<InputError>(
        "the text to encode is not UTF-8: byte {} of {}", *offset, text.size());
  }
}

}  // namespace

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerState> state)
    : state_(std::move(state)) {}

Tokenizer Tokenizer::from_file(const std::filesystem::path& path) {
  return Tokenizer(std::make_shared<const TokenizerState>(read_tokenizer_file(path, {})));
}

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  return std::filesystem::is_directory(path) ? from_folder(path) : from_file(path);
}

Tokenizer Tokenizer::from_json(const Json& json, const std::string& name) {
  return Tokenizer(
      std::make_shared<const TokenizerState>(make_tokenizer_state(json, name, {})));
}

std::vector<int32_t> Tokenizer::encode(
    std::string_view text, const EncodeOptions& options) const {
  check_utf8(text);
  std::vector<int32_t> ids;
  if (options.parse_special) {
    const Range whole{0, text.size()};
    encode_with_added_tokens(*state_, text, {&whole, 1}, ids);
  } else {
    encode_text(*state_, state_->normalize(std::string(text)), true, ids);
  }
  const bool surrounded = options.add_special_tokens && state_->post_processor;
  if (options.max_tokens != 0) {
    const size_t added = surrounded ? state_->post_processor->process({}).size() : 0;
    if (options.max_tokens < added) {
      fail<InputError>(
          "at most {} tokens are asked for, but {} special ones are added",
          options.max_tokens,
          added);
    }
    ids.resize(std::min(ids.size(), options.max_tokens - added));
  }
  return surrounded ? state_->post_processor->process(std::move(ids)) : ids;
}

std::vector<std::vector<int32_t>> Tokenizer::encode_batch(
    std::span<const std::string_view> texts,
    const EncodeOptions& options,
    size_t num_threads) const {
  std::vector<std::vector<int32_t>> results(texts.size());
  std::vector<std::exception_ptr> errors(texts.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < texts.size(); i = next++) {
      try {
        results[i] = encode(texts[i], options);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  if (num_threads == 0) {
    num_threads = std::max(1U, std::thread::hardware_concurrency());
  }
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < std::min(num_threads, texts.size()); ++i) {
      others.emplace_back(work);
    }
    work();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
  return results;
}

std::vector<int32_t> Tokenizer::encode_marked(
    std::string_view text, std::span<const Range> marked) const {
  check_utf8(text);
  std::vector<int32_t> ids;
  encode_with_added_tokens(*state_, text, marked, ids);
  return ids;
}

std::string Tokenizer::decode(
    std::span<const int32_t> ids, const DecodeOptions& options) const {
  StreamDecoder decoder(*this, options);
  std::string text;
  for (const int32_t id : ids) {
    text += decoder.push(id);
  }
  return text + decoder.finish();
}

const std::string& Tokenizer::piece(int32_t id) const {
  return state_->at(id).bytes;
}

int64_t Tokenizer::vocab_size() const {
  return static_cast<int64_t>(state_->tokens.size());
}

std::optional<int32_t> Tokenizer::token_id(std::string_view token) const {
  const auto found = state_->ids.find(token);
  return found == state_->ids.end() ? std::nullopt : std::optional(found->second);
}

const std::string& Tokenizer::token(int32_t id) const {
  return state_->at(id).spelling;
}

bool Tokenizer::is_special(int32_t id) const {
  return state_->at(id).special;
}

std::optional<int32_t> Tokenizer::bos_id() const {
  return state_->bos_id;
}

std::optional<int32_t> Tokenizer::pad_id() const {
  return state_->pad_id;
}

const std::vector<int32_t>& Tokenizer::eos_ids() const {
  return state_->eos_ids;
}

const std::string& Tokenizer::chat_template() const {
  return state_->chat_template;
}

const std::string& Tokenizer::name() const {
  return state_->name;
}

void Tokenizer::check_fits(int64_t model_vocab_size) const {
  if (vocab_size() > model_vocab_size) {
    const auto id = static_cast<int32_t>(vocab_size() - 1);
    fail<InputError>(
        "{}: token \"{}\" has id {}, but the model's vocabulary has {} entries",
        name(),
        token(id),
        id,
        model_vocab_size);
  }
}

}  // namespace titan::text

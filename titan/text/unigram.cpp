#include "titan/text/unigram.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/text_hash.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

// An unknown character scores this much less than the worst token.
constexpr double kUnknownPenalty = 10.0;

}  // namespace

Unigram::Unigram(std::vector<UnigramToken> tokens, const UnigramOptions& options)
    : options_(options) {
  double least = std::numeric_limits<double>::max();
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (tokens[i].searched) {
      trie_.add(tokens[i].text, id);
      least = std::min(least, tokens[i].score);
    }
    scores_.push_back(tokens[i].score);
    vocabulary_.emplace(std::move(tokens[i].text), id);
  }
  unknown_score_ = least - kUnknownPenalty;
}

void Unigram::search(std::string_view piece, std::vector<Step>& steps) const {
  steps.assign(piece.size() + 1, {0.0, kUnknown, 0});
  const auto offer = [&](size_t begin, size_t end, int32_t id, double score) {
    Step& step = steps[end];
    const double sum = steps[begin].score + score;
    if (step.size == 0 || sum > step.score) {
      step = {sum, id, static_cast<uint32_t>(end - begin)};
    }
  };
  for (size_t begin = 0; begin < piece.size();) {
    const size_t next = begin + utf8_size(static_cast<unsigned char>(piece[begin]));
    bool covered = false;
    int32_t node = ByteTrie::kRoot;
    for (size_t end = begin; end < piece.size();) {
      node = trie_.child(node, piece[end++]);
      if (node == ByteTrie::kNone) {
        break;
      }
      if (const int32_t id = trie_.value(node); id != ByteTrie::kNone) {
        offer(begin, end, id, scores_[static_cast<size_t>(id)]);
        covered = covered || end == next;
      }
    }
    if (!covered) {
      offer(begin, next, kUnknown, unknown_score_);
    }
    begin = next;
  }
}

void Unigram::encode(
    std::string_view text,
    std::span<const Range> pieces,
    std::vector<int32_t>& ids) const {
  auto scratch = scratch_.take();
  for (const Range& range : pieces) {
    const std::string_view piece = text.substr(range.begin, range.size());
    const uint64_t hash = hash_bytes(piece);
    if (!(*scratch).cache.find(piece, hash, ids)) {
      const size_t before = ids.size();
      encode_piece(piece, *scratch, ids);
      (*scratch).cache.insert(piece, hash, std::span(ids).subspan(before));
    }
  }
}

void Unigram::encode_piece(
    std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (piece.size() > std::numeric_limits<uint32_t>::max()) {
    fail<InputError>("a piece of {} bytes is too long to encode", piece.size());
  }
  search(piece, scratch.steps);
  // Neighbouring unknown characters are one stretch.
  scratch.path.clear();
  bool after_unknown = false;
  for (size_t end = piece.size(); end > 0;) {
    const Step& step = scratch.steps[end];
    const size_t begin = end - step.size;
    const bool unknown = step.id == kUnknown || step.id == options_.unk_id;
    if (unknown && after_unknown) {
      scratch.path.back().begin = begin;
    } else {
      scratch.path.push_back({begin, end});
    }
    after_unknown = unknown;
    end = begin;
  }
  for (const Range& stretch : std::views::reverse(scratch.path)) {
    append_stretch(piece.substr(stretch.begin, stretch.size()), ids);
  }
}

void Unigram::append_stretch(std::string_view stretch, std::vector<int32_t>& ids) const {
  const auto find = [&](std::string_view token) {
    const auto found = vocabulary_.find(token);
    return found == vocabulary_.end() ? kUnknown : found->second;
  };
  if (const int32_t id = find(stretch); id != kUnknown) {
    ids.push_back(id);
    return;
  }
  if (options_.byte_fallback) {
    const size_t before = ids.size();
    for (const char byte : stretch) {
      ids.push_back(find(fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte))));
    }
    if (std::ranges::find(
            ids.begin() + static_cast<ptrdiff_t>(before), ids.end(), kUnknown) ==
        ids.end()) {
      return;
    }
    ids.resize(before);
  }
  if (!options_.unk_id) {
    fail<InputError>(
        "no token covers \"{}\", and the tokenizer has no unknown token", stretch);
  }
  ids.push_back(*options_.unk_id);
}

std::unique_ptr<Model> make_unigram(
    const Json& node, const std::string& where, const ModelContext&) {
  const auto member = node.find("vocab");
  if (member == node.end() || !member->is_array() || member->empty()) {
    fail<FormatError>("{}: expected a list \"vocab\" of tokens with scores", where);
  }
  std::vector<UnigramToken> tokens;
  Vocabulary seen;
  for (size_t i = 0; i < member->size(); ++i) {
    const Json& entry = (*member)[i];
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() ||
        !entry[1].is_number()) {
      fail<FormatError>(
          "{}.vocab.{}: expected [token, score], got {}", where, i, entry.dump());
    }
    const auto text = entry[0].get<std::string>();
    if (!seen.emplace(text, static_cast<int32_t>(i)).second) {
      fail<FormatError>("{}.vocab.{}: token \"{}\" occurs twice", where, i, text);
    }
    tokens.push_back({.text = text, .score = entry[1].get<double>()});
  }
  UnigramOptions options;
  options.byte_fallback = json_get<bool>(node, "byte_fallback", where, false);
  const auto unk_id = json_get<int64_t>(node, "unk_id", where, -1);
  if (unk_id < -1 || unk_id >= std::ssize(tokens)) {
    fail<FormatError>(
        "{}: unk_id: {} is not one of {} ids", where, unk_id, tokens.size());
  }
  if (unk_id >= 0) {
    options.unk_id = static_cast<int32_t>(unk_id);
  }
  return std::make_unique<Unigram>(std::move(tokens), options);
}

}  // namespace titan::text

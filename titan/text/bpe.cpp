#include "titan/text/bpe.h"

#include <utility>

#include "titan/base/log.h"
#include "titan/text/byte_alphabet.h"
#include "titan/text/text_hash.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

constexpr std::string_view kMark = "\u2581";

bool is_one_character(std::string_view text) {
  return !text.empty() && next_utf8(text).size == text.size();
}

}  // namespace

Bpe::Bpe(
    Vocabulary vocabulary,
    std::span<const Merge> merges,
    BpeOptions options,
    const ModelContext& context)
    : vocabulary_(std::move(vocabulary)),
      options_(std::move(options)),
      byte_pieces_(context.byte_pieces) {
  for (const Merge& merge : merges) {
    merges_.get_or_add(merge.left, merge.right) = {merge.rank, merge.joined};
  }
  enter_characters();
  enter_fallback_bytes();
  enter_whole_pieces(context);
  find_safe_cut();
}

void Bpe::enter_characters() {
  byte_ids_.fill(kNoId);
  if (byte_pieces_) {
    for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
      const auto found = vocabulary_.find(byte_symbol(static_cast<uint8_t>(byte)));
      byte_ids_[byte] = found == vocabulary_.end() ? kNoId : found->second;
    }
    return;
  }
  for (const auto& [token, id] : vocabulary_) {
    if (is_one_character(token)) {
      characters_.add(token, id);
      if (token.size() == 1) {
        byte_ids_[static_cast<unsigned char>(token[0])] = id;
      }
    }
  }
}

void Bpe::enter_fallback_bytes() {
  for (size_t byte = 0; byte < fallback_ids_.size(); ++byte) {
    const auto found = vocabulary_.find(fmt::format("<0x{:02X}>", byte));
    fallback_ids_[byte] = found == vocabulary_.end() ? kNoId : found->second;
  }
}

// With ignore_merges every token but a control token; else those that merging their own
// text gives back, which saves the merging.
void Bpe::enter_whole_pieces(const ModelContext& context) {
  auto scratch = scratch_.take();
  left_out_.test_and_set();  // no warnings yet
  std::vector<int32_t> ids;
  for (const auto& [token, id] : vocabulary_) {
    const std::optional<std::string> piece =
        byte_pieces_ ? bytes_of_symbols(token) : token;
    if (!piece || piece->empty()) {
      continue;  // no text leads to it
    }
    bool whole = !context.control_ids.contains(id);
    if (!options_.ignore_merges) {
      ids.clear();
      merge_piece(*piece, *scratch, ids);
      whole = ids.size() == 1 && ids[0] == id;
    }
    if (whole) {
      whole_pieces_.add(*piece, id);
    }
  }
  left_out_.clear();
}

void Bpe::find_safe_cut() {
  cut_at_marks_ = !byte_pieces_ && characters_.find(kMark) &&
                  options_.continuing_prefix.empty() && options_.end_suffix.empty();
  for (const auto& [token, id] : vocabulary_) {
    size_t at = token.find(kMark);
    while (cut_at_marks_ && at != std::string::npos) {
      cut_at_marks_ = std::string_view(token).substr(0, at).ends_with(kMark) || at == 0;
      at = token.find(kMark, at + kMark.size());
    }
  }
}

void Bpe::encode(
    std::string_view text,
    std::span<const Range> pieces,
    std::vector<int32_t>& ids) const {
  auto scratch = scratch_.take();
  for (const Range& range : pieces) {
    std::string_view piece = text.substr(range.begin, range.size());
    while (cut_at_marks_) {
      const size_t word = piece.find_first_not_of(kMark);  // bytes of the mark will do
      const size_t cut = word == piece.npos ? piece.npos : piece.find(kMark, word);
      if (cut == piece.npos) {
        break;
      }
      encode_piece(piece.substr(0, cut), *scratch, ids);
      piece.remove_prefix(cut);
    }
    encode_piece(piece, *scratch, ids);
  }
}

void Bpe::encode_piece(
    std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const {
  const uint64_t hash = hash_bytes(piece);
  if (scratch.cache.find(piece, hash, ids)) {
    return;
  }
  const size_t before = ids.size();
  if (const std::optional<int32_t> id = whole_pieces_.find(piece, hash)) {
    ids.push_back(*id);
  } else {
    merge_piece(piece, scratch, ids);
  }
  scratch.cache.insert(piece, hash, std::span(ids).subspan(before));
}

void Bpe::merge_piece(
    std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const {
  scratch.symbols.clear();
  append_characters(piece, scratch.symbols);
  scratch.merger.apply(merges_, scratch.symbols, ids);
}

void Bpe::append_characters(std::string_view piece, std::vector<int32_t>& symbols) const {
  bool after_unknown = false;
  const size_t end = piece.size();
  for (size_t at = 0; at < end;) {
    const size_t size =
        byte_pieces_ ? 1 : utf8_size(static_cast<unsigned char>(piece[at]));
    const std::string_view character = piece.substr(at, size);
    const int32_t id = character_id(character, at == 0, at + size == end);
    at += size;
    bool unknown = false;
    if (id != kNoId) {
      symbols.push_back(id);
    } else if (!append_fallback(character, symbols)) {
      unknown = true;
      if (!options_.unk_id) {
        note_left_out(character);
      } else if (!(options_.fuse_unk && after_unknown)) {
        symbols.push_back(*options_.unk_id);
      }
    }
    after_unknown = unknown;
  }
}

int32_t Bpe::character_id(std::string_view character, bool first, bool last) const {
  const bool prefixed = !first && !options_.continuing_prefix.empty();
  const bool suffixed = last && !options_.end_suffix.empty();
  if (prefixed || suffixed) {
    std::string token = prefixed ? options_.continuing_prefix : "";
    token += character;
    token += suffixed ? options_.end_suffix : "";
    const auto found = vocabulary_.find(token);
    return found == vocabulary_.end() ? kNoId : found->second;
  }
  if (character.size() == 1) {
    return byte_ids_[static_cast<unsigned char>(character[0])];
  }
  return characters_.find(character).value_or(kNoId);
}

bool Bpe::append_fallback(
    std::string_view character, std::vector<int32_t>& symbols) const {
  if (!options_.byte_fallback) {
    return false;
  }
  for (const char byte : character) {
    if (fallback_ids_[static_cast<unsigned char>(byte)] == kNoId) {
      return false;
    }
  }
  for (const char byte : character) {
    symbols.push_back(fallback_ids_[static_cast<unsigned char>(byte)]);
  }
  return true;
}

void Bpe::note_left_out(std::string_view character) const {
  if (!left_out_.test_and_set()) {
    log::warning(
        "the tokenizer has no token for the character \"{}\" and no unknown token; such "
        "characters are left out",
        byte_pieces_ ? byte_symbol(static_cast<uint8_t>(character[0]))
                     : std::string(character));
  }
}

std::vector<Bpe::Merge> merges_of_ranked_tokens(std::span<const RankedToken> tokens) {
  TokenTable ids;
  for (const RankedToken& token : tokens) {
    ids.add(token.text, token.id);
  }
  std::vector<Bpe::Merge> merges;
  for (const RankedToken& token : tokens) {
    for (size_t cut = 1; cut < token.text.size(); ++cut) {
      const std::optional<int32_t> left = ids.find(token.text.substr(0, cut));
      const std::optional<int32_t> right = ids.find(token.text.substr(cut));
      if (left && right) {
        merges.push_back({*left, *right, token.id, token.rank});
      }
    }
  }
  return merges;
}

}  // namespace titan::text

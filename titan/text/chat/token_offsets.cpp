#include "titan/text/chat/token_offsets.h"

#include <algorithm>

namespace titan::text::chat {
namespace {

// How far ahead the text of a token is looked for after bytes that no token spells.
constexpr size_t kReach = 64;

std::string_view without_space(std::string_view piece) {
  return piece.starts_with(' ') ? piece.substr(1) : piece;
}

}  // namespace

std::vector<size_t> token_ends(
    const Tokenizer& tokenizer, std::string_view text, std::span<const int32_t> ids) {
  std::vector<size_t> ends;
  ends.reserve(ids.size());
  size_t at = 0;
  size_t num_matched = 0;  // tokens up to the last one that was found
  for (const int32_t id : ids) {
    const std::string_view piece = tokenizer.piece(id);
    const std::string_view rest = text.substr(at);
    size_t begin = 0;  // of the token, in `rest`
    size_t size = piece.size();
    if (!rest.starts_with(piece)) {
      if (rest.starts_with(without_space(piece))) {
        size = without_space(piece).size();
      } else {
        begin = rest.substr(0, kReach + size).find(piece);
      }
    }
    if (begin != rest.npos) {
      std::fill(
          ends.begin() + static_cast<ptrdiff_t>(num_matched), ends.end(), at + begin);
      at += begin + size;
      num_matched = ends.size() + 1;
    }
    ends.push_back(at);
  }
  if (!ends.empty()) {
    ends.back() = text.size();
  }
  return ends;
}

}  // namespace titan::text::chat

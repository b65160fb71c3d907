#include "titan/text/ranked_tokenizer.h"

#include <memory>
#include <unordered_set>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/bpe.h"
#include "titan/text/byte_alphabet.h"

namespace titan::text {
namespace {

std::string spell(std::string_view bytes) {
  std::string spelled;
  for (const char byte : bytes) {
    spelled += byte_symbol(static_cast<uint8_t>(byte));
  }
  return spelled;
}

void check(const std::string& name, const std::vector<RankedBytes>& tokens) {
  std::unordered_set<std::string_view> seen;
  std::unordered_set<int32_t> ranks;
  for (const RankedBytes& token : tokens) {
    if (token.bytes.empty() || !seen.insert(token.bytes).second ||
        !ranks.insert(token.rank).second) {
      fail<FormatError>(
          "{}: rank {}: the token \"{}\" or its rank occurs twice",
          name,
          token.rank,
          spell(token.bytes));
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    if (!seen.contains(std::string(1, static_cast<char>(byte)))) {
      fail<FormatError>("{}: no token for the byte 0x{:02X}", name, byte);
    }
  }
}

}  // namespace

TokenizerState make_ranked_tokenizer(
    const std::string& name,
    const std::vector<RankedBytes>& tokens,
    int32_t first_id,
    const std::string& pattern,
    const std::vector<AddedToken>& added) {
  check(name, tokens);
  Vocabulary vocabulary;
  std::vector<RankedToken> ranked;
  for (const RankedBytes& token : tokens) {
    const int32_t id = first_id + token.rank;
    vocabulary.emplace(spell(token.bytes), id);
    ranked.push_back({token.bytes, id, token.rank});
  }
  TokenizerState state{
      .name = name, .decoder = make_decoder({{"type", "ByteLevel"}}, "decoder")};
  state.pre_tokenizer = make_pattern_pre_tokenizer(pattern, name + ": pattern");
  state.model = std::make_unique<Bpe>(
      std::move(vocabulary),
      merges_of_ranked_tokens(ranked),
      BpeOptions{.ignore_merges = true},
      ModelContext{.byte_pieces = true});
  enter_tokens(state, added);
  return state;
}

AddedToken special_token(int32_t id, std::string content) {
  return {.id = id, .content = std::move(content), .special = true};
}

}  // namespace titan::text

#pragma once
// The parts of a loaded tokenizer.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "titan/base/json.h"
#include "titan/text/added_tokens.h"
#include "titan/text/decoder.h"
#include "titan/text/model.h"
#include "titan/text/normalizer.h"
#include "titan/text/post_processor.h"
#include "titan/text/pre_tokenizer.h"

namespace titan::text {

struct TokenizerState {
  struct Token {
    std::string spelling;  // in the file; empty: the id is not used
    std::string bytes;     // what it stands for
    bool added = false;
    bool special = false;
  };

  std::string name;
  std::unique_ptr<Normalizer> normalizer;       // null: none
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // null: none
  std::unique_ptr<Model> model;
  std::unique_ptr<PostProcessor> post_processor;  // null: none
  Decoder decoder;
  AddedTokenMatcher exact_tokens;       // looked for in the text as given
  AddedTokenMatcher normalized_tokens;  // looked for after the normalizer
  std::vector<Token> tokens;            // by id
  Vocabulary ids;                       // by spelling

  std::optional<int32_t> bos_id;
  std::optional<int32_t> pad_id;
  std::vector<int32_t> eos_ids;
  std::string chat_template;

  [[nodiscard]] std::string normalize(std::string text) const;
  // Null where the id is not a token.
  [[nodiscard]] const Token* find(int64_t id) const;
  // InputError names an id that is not a token.
  [[nodiscard]] const Token& at(int32_t id) const;
};

// Assembles the parts of a tokenizer.json. `more_added_tokens` come from a
// tokenizer_config.json; those that the file has already are left out.
[[nodiscard]] TokenizerState make_tokenizer_state(
    const Json& json,
    const std::string& name,
    const std::vector<AddedToken>& more_added_tokens);

// `tokens`, then those of `more` whose ids are new.
[[nodiscard]] std::vector<AddedToken> join_added_tokens(
    std::vector<AddedToken> tokens, const std::vector<AddedToken>& more);

// The last step of every reader: fills tokens, ids and the matchers from the other parts.
// FormatError: contradictions among the tokens; a post-processor that adds an id which is
// no token.
void enter_tokens(TokenizerState& state, const std::vector<AddedToken>& added);

}  // namespace titan::text

#include "titan/text/tokenizer_state.h"

#include <unordered_set>
#include <utility>

#include "titan/base/error.h"

namespace titan::text {
namespace {

// The member `key`, or null where it is absent or null.
const Json* find_part(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

std::vector<AddedToken> read_added_tokens(const Json& json, const std::string& name) {
  std::vector<AddedToken> tokens;
  if (const Json* list = find_part(json, "added_tokens")) {
    if (!list->is_array()) {
      fail<FormatError>("{}: added_tokens: expected a list", name);
    }
    for (size_t i = 0; i < list->size(); ++i) {
      const std::string where = fmt::format("{}: added_tokens.{}", name, i);
      const auto id = json_get<int64_t>((*list)[i], "id", where);
      tokens.push_back(read_added_token((*list)[i], id, where));
    }
  }
  return tokens;
}

// Enters a token; an added token may repeat what the model has, but not contradict it.
void enter(TokenizerState& state, const std::string& spelling, int32_t id) {
  const auto index = static_cast<size_t>(id);
  if (index >= state.tokens.size()) {
    state.tokens.resize(index + 1);
  }
  const auto [entry, added] = state.ids.emplace(spelling, id);
  std::string& known = state.tokens[index].spelling;
  if (entry->second != id) {
    fail<FormatError>(
        "{}: token \"{}\" has two ids: {} and {}",
        state.name,
        spelling,
        entry->second,
        id);
  }
  if (!known.empty() && known != spelling) {
    fail<FormatError>(
        "{}: id {} has two tokens: \"{}\" and \"{}\"", state.name, id, known, spelling);
  }
  known = spelling;
}

// Far above any real vocabulary; an id beyond it would only ask for absurd memory.
constexpr int32_t kLargestId = 16'777'215;

void check_id(const TokenizerState& state, const std::string& spelling, int32_t id) {
  if (id > kLargestId) {
    fail<FormatError>(
        "{}: token \"{}\": id {} is above the limit of {}",
        state.name,
        spelling,
        id,
        kLargestId);
  }
}

// The text that an added token stands for: its own. Only where it is looked for in
// another spelling, that is what the decoder knows.
std::string text_of(const TokenizerState& state, const AddedToken& token) {
  return token.spelling ? state.decoder.decode(*token.spelling, false) : token.content;
}

}  // namespace

std::string TokenizerState::normalize(std::string text) const {
  return normalizer ? normalizer->normalize(std::move(text)) : text;
}

const TokenizerState::Token* TokenizerState::find(int64_t id) const {
  if (id < 0 || id >= std::ssize(tokens) ||
      tokens[static_cast<size_t>(id)].spelling.empty()) {
    return nullptr;
  }
  return &tokens[static_cast<size_t>(id)];
}

const TokenizerState::Token& TokenizerState::at(int32_t id) const {
  const Token* token = find(id);
  if (token == nullptr) {
    fail<InputError>(
        "{}: {} is not the id of a token (largest: {})", name, id, tokens.size() - 1);
  }
  return *token;
}

std::vector<AddedToken> join_added_tokens(
    std::vector<AddedToken> tokens, const std::vector<AddedToken>& more) {
  std::unordered_set<int32_t> ids;
  for (const AddedToken& token : tokens) {
    ids.insert(token.id);
  }
  for (const AddedToken& token : more) {
    if (ids.insert(token.id).second) {
      tokens.push_back(token);
    }
  }
  return tokens;
}

void enter_tokens(TokenizerState& state, const std::vector<AddedToken>& added) {
  for (const auto& [spelling, id] : state.model->vocabulary()) {
    check_id(state, spelling, id);
    enter(state, spelling, id);
    state.tokens[static_cast<size_t>(id)].bytes = state.decoder.decode(spelling, false);
  }
  std::vector<AddedTokenMatcher::Entry> exact;
  std::vector<AddedTokenMatcher::Entry> normalized;
  for (const AddedToken& token : added) {
    check_id(state, token.content, token.id);
    enter(state, token.content, token.id);
    TokenizerState::Token& entry = state.tokens[static_cast<size_t>(token.id)];
    entry.bytes = text_of(state, token);
    entry.added = true;
    entry.special = token.special;
    if (token.normalized) {
      normalized.push_back(
          {token, token.spelling ? *token.spelling : state.normalize(token.content)});
    } else {
      exact.push_back({token, token.content});
    }
  }
  state.exact_tokens = AddedTokenMatcher(std::move(exact));
  state.normalized_tokens = AddedTokenMatcher(std::move(normalized));
  if (state.post_processor) {
    for (const int32_t id : state.post_processor->process({})) {
      if (!state.find(id)) {
        fail<FormatError>(
            "{}: post_processor: {} is not the id of a token", state.name, id);
      }
    }
  }
}

TokenizerState make_tokenizer_state(
    const Json& json,
    const std::string& name,
    const std::vector<AddedToken>& more_added_tokens) {
  if (!json.is_object()) {
    fail<FormatError>("{}: expected a JSON object", name);
  }
  const Json* decoder = find_part(json, "decoder");
  const Json* model = find_part(json, "model");
  if (decoder == nullptr || model == nullptr) {
    fail<FormatError>("{}: {}: missing", name, model == nullptr ? "model" : "decoder");
  }
  TokenizerState state{
      .name = name, .decoder = make_decoder(*decoder, name + ": decoder")};
  // "truncation" and "padding" are settings of one training run, not of the tokenizer.
  if (const Json* node = find_part(json, "normalizer")) {
    state.normalizer = make_normalizer(*node, name + ": normalizer");
  }
  if (const Json* node = find_part(json, "pre_tokenizer")) {
    state.pre_tokenizer = make_pre_tokenizer(*node, name + ": pre_tokenizer");
  }
  if (const Json* node = find_part(json, "post_processor")) {
    state.post_processor = make_post_processor(*node, name + ": post_processor");
  }
  const std::vector<AddedToken> added =
      join_added_tokens(read_added_tokens(json, name), more_added_tokens);
  ModelContext context;
  for (const AddedToken& token : added) {
    context.control_ids.insert(token.id);
  }
  context.byte_pieces = takes_byte_pieces(*model, name + ": model") &&
                        state.pre_tokenizer && state.pre_tokenizer->stop_spelling_bytes();
  state.model = make_model(*model, name + ": model", context);
  enter_tokens(state, added);
  return state;
}

}  // namespace titan::text

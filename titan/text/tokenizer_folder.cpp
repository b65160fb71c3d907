// A tokenizer with what its model folder says about it.

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/text/tokenizer.h"
#include "titan/text/tokenizer_file.h"
#include "titan/text/tokenizer_state.h"

namespace titan::text {
namespace {

// A JSON file of the folder; an empty object where it does not exist.
Json read_optional(const fs::path& path) {
  return fs::exists(path) ? read_json_file(path) : Json::object();
}

// "added_tokens_decoder": {"id": {...}}.
std::vector<AddedToken> read_added_tokens_decoder(
    const Json& config, const std::string& what) {
  std::vector<AddedToken> tokens;
  const auto member = config.find("added_tokens_decoder");
  if (member == config.end()) {
    return tokens;
  }
  for (const auto& [id, node] : member->items()) {
    const std::string where = fmt::format("{}: added_tokens_decoder.{}", what, id);
    if (id.empty() || id.size() > 9 || id.find_first_not_of("0123456789") != id.npos) {
      fail<FormatError>("{}: expected a token id", where);
    }
    tokens.push_back(read_added_token(node, std::stoi(id), where));
  }
  return tokens;
}

// The id of the special token called `role`: a string, or an object with "content".
std::optional<int32_t> find_named_token(
    const TokenizerState& state,
    const std::string& role,
    std::initializer_list<std::pair<const Json&, fs::path>> files) {
  for (const auto& [file, path] : files) {
    const auto member = file.find(role);
    if (member == file.end() || member->is_null()) {
      continue;
    }
    const std::string what = path.string();
    const std::string token = member->is_object()
                                  ? json_get<std::string>(*member, "content", what)
                                  : json_get<std::string>(file, role, what);
    const auto found = state.ids.find(token);
    if (found == state.ids.end()) {
      fail<FormatError>("{}: {}: the tokenizer has no token \"{}\"", what, role, token);
    }
    return found->second;
  }
  return std::nullopt;
}

// generation_config.json's eos_token_id: one id or a list.
void add_eos_ids(TokenizerState& state, const Json& config, const std::string& what) {
  const auto member = config.find("eos_token_id");
  if (member == config.end() || member->is_null()) {
    return;
  }
  const std::vector<int64_t> ids =
      member->is_array() ? json_get<std::vector<int64_t>>(config, "eos_token_id", what)
                         : std::vector{json_get<int64_t>(config, "eos_token_id", what)};
  for (const int64_t id : ids) {
    if (!state.find(id)) {
      fail<FormatError>("{}: eos_token_id: {} is not the id of a token", what, id);
    }
    if (std::ranges::find(state.eos_ids, id) == state.eos_ids.end()) {
      state.eos_ids.push_back(static_cast<int32_t>(id));
    }
  }
}

// Formats other than tokenizer.json leave it to the config whether a text gets BOS and
// EOS.
void surround_as_configured(
    TokenizerState& state, const Json& config, const std::string& what) {
  const bool add_bos =
      json_get<bool>(config, "add_bos_token", what, state.post_processor != nullptr);
  const bool add_eos = json_get<bool>(config, "add_eos_token", what, false);
  std::vector<int32_t> before;
  std::vector<int32_t> behind;
  if (add_bos && state.bos_id) {
    before.push_back(*state.bos_id);
  }
  if (add_eos && !state.eos_ids.empty()) {
    behind.push_back(state.eos_ids[0]);
  }
  state.post_processor =
      make_surrounding_post_processor(std::move(before), std::move(behind));
}

// The template file, else the "chat_template" of the config: text, or a list of named
// ones of which "default" is taken.
std::string read_chat_template(const fs::path& folder, const Json& config) {
  if (fs::exists(folder / "chat_template.jinja")) {
    return read_file(folder / "chat_template.jinja");
  }
  const std::string what = (folder / "tokenizer_config.json").string();
  const auto member = config.find("chat_template");
  if (member == config.end() || !member->is_array()) {
    return json_get<std::string>(config, "chat_template", what, "");
  }
  for (const Json& entry : *member) {
    if (json_get<std::string>(entry, "name", what) == "default") {
      return json_get<std::string>(entry, "template", what);
    }
  }
  fail<FormatError>("{}: chat_template: no template is called \"default\"", what);
}

}  // namespace

Tokenizer Tokenizer::from_folder(const std::filesystem::path& folder) {
  const fs::path file = find_tokenizer_file(folder);
  const fs::path config_file = folder / "tokenizer_config.json";
  const fs::path map_file = folder / "special_tokens_map.json";
  const fs::path generation_file = folder / "generation_config.json";
  const Json config = read_optional(config_file);
  const Json map = read_optional(map_file);
  const Json generation = read_optional(generation_file);

  auto state = std::make_shared<TokenizerState>(
      read_tokenizer_file(file, read_added_tokens_decoder(config, config_file.string())));
  const auto named = [&](const std::string& role) {
    return find_named_token(*state, role, {{config, config_file}, {map, map_file}});
  };
  // What the config names comes before what the tokenizer file itself may say.
  if (const std::optional<int32_t> bos = named("bos_token")) {
    state->bos_id = bos;
  }
  if (const std::optional<int32_t> pad = named("pad_token")) {
    state->pad_id = pad;
  }
  if (const std::optional<int32_t> eos = named("eos_token")) {
    state->eos_ids = {*eos};
  }
  if (file.filename() != "tokenizer.json") {
    surround_as_configured(*state, config, config_file.string());
  }
  add_eos_ids(*state, generation, generation_file.string());
  state->chat_template = read_chat_template(folder, config);
  return Tokenizer(std::move(state));
}

}  // namespace titan::text

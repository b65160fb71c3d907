#include "titan/text/vocabulary_json.h"

#include <cstdint>
#include <unordered_set>

#include "titan/base/error.h"

namespace titan::text {

Vocabulary read_vocabulary(const Json& node, const std::string& where) {
  const auto member = node.find("vocab");
  if (member == node.end() || !member->is_object() || member->empty()) {
    fail<FormatError>("{}: expected an object \"vocab\" of tokens and ids", where);
  }
  Vocabulary vocabulary;
  std::unordered_set<int32_t> ids;
  vocabulary.reserve(member->size());
  for (const auto& [token, value] : member->items()) {
    if (!value.is_number_integer() || value.get<int64_t>() < 0 ||
        value.get<int64_t>() > INT32_MAX) {
      fail<FormatError>(
          "{}.vocab: token \"{}\": expected an id, got {}", where, token, value.dump());
    }
    const auto id = value.get<int32_t>();
    if (!ids.insert(id).second) {
      fail<FormatError>(
          "{}.vocab: token \"{}\": id {} belongs to another token too", where, token, id);
    }
    vocabulary.emplace(token, id);
  }
  return vocabulary;
}

std::optional<int32_t> read_unk_id(
    const Json& node, const Vocabulary& vocabulary, const std::string& where) {
  const auto unknown = json_get<std::string>(node, "unk_token", where, "");
  if (unknown.empty()) {
    return std::nullopt;
  }
  const auto found = vocabulary.find(unknown);
  if (found == vocabulary.end()) {
    fail<FormatError>(
        "{}: unk_token \"{}\" is not a token of the vocabulary", where, unknown);
  }
  return found->second;
}

}  // namespace titan::text

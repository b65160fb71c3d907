#include "titan/text/model.h"

#include <string_view>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/bpe.h"
#include "titan/text/unigram.h"
#include "titan/text/word_level.h"

namespace titan::text {
namespace {

using MakeModel = std::unique_ptr<Model> (*)(
    const Json& node, const std::string& where, const ModelContext& context);

constexpr std::pair<std::string_view, MakeModel> kModels[] = {
    {"BPE", make_bpe}, {"Unigram", make_unigram}, {"WordLevel", make_word_level}};

// Old files leave the type out; they are all BPE.
std::string type_of(const Json& node, const std::string& where) {
  return json_get<std::string>(node, "type", where, "BPE");
}

}  // namespace

bool takes_byte_pieces(const Json& node, const std::string& where) {
  return type_of(node, where) == "BPE" &&
         !json_get<bool>(node, "byte_fallback", where, false) &&
         json_get<std::string>(node, "continuing_subword_prefix", where, "").empty() &&
         json_get<std::string>(node, "end_of_word_suffix", where, "").empty();
}

std::unique_ptr<Model> make_model(
    const Json& node, const std::string& where, const ModelContext& context) {
  const std::string type = type_of(node, where);
  std::vector<std::string_view> known;
  for (const auto& [name, make] : kModels) {
    if (name == type) {
      return make(node, where, context);
    }
    known.push_back(name);
  }
  fail<FormatError>(
      "{}: type \"{}\" is not supported (known: {})",
      where,
      type,
      fmt::join(known, ", "));
}

}  // namespace titan::text

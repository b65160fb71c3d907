// Byte-pair encoding from the "model" of a tokenizer.json.

#include <utility>

#include "titan/base/error.h"
#include "titan/text/bpe.h"
#include "titan/text/vocabulary_json.h"

namespace titan::text {
namespace {

// The two halves of a merge: "left right", or a pair where tokens may hold spaces.
std::pair<std::string, std::string> read_pair(
    const Json& merge, const std::string& where) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
      merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  fail<FormatError>(
      "{}: expected \"left right\" or [\"left\", \"right\"], got {}",
      where,
      merge.dump());
}

// `prefix` is what continuing tokens start with; joining drops it from the right half.
std::vector<Bpe::Merge> read_merges(
    const Json& node,
    const Vocabulary& vocabulary,
    const std::string& prefix,
    const std::string& where) {
  const auto member = node.find("merges");
  if (member == node.end() || !member->is_array()) {
    fail<FormatError>("{}: expected a list \"merges\"", where);
  }
  std::vector<Bpe::Merge> merges;
  merges.reserve(member->size());
  for (size_t i = 0; i < member->size(); ++i) {
    const std::string here = fmt::format("{}.merges.{}", where, i);
    const auto [left, right] = read_pair((*member)[i], here);
    const auto id_of = [&](const std::string& token) {
      const auto found = vocabulary.find(token);
      if (found == vocabulary.end()) {
        fail<FormatError>("{}: \"{}\" is not a token of the vocabulary", here, token);
      }
      return found->second;
    };
    const std::string rest =
        right.starts_with(prefix) ? right.substr(prefix.size()) : right;
    merges.push_back(
        {id_of(left), id_of(right), id_of(left + rest), static_cast<int32_t>(i)});
  }
  return merges;
}

}  // namespace

std::unique_ptr<Model> make_bpe(
    const Json& node, const std::string& where, const ModelContext& context) {
  if (json_get<double>(node, "dropout", where, 0.0) != 0.0) {
    fail<FormatError>("{}: dropout is not supported: ids would be random", where);
  }
  Vocabulary vocabulary = read_vocabulary(node, where);
  BpeOptions options{
      .unk_id = read_unk_id(node, vocabulary, where),
      .fuse_unk = json_get<bool>(node, "fuse_unk", where, false),
      .ignore_merges = json_get<bool>(node, "ignore_merges", where, false),
      .byte_fallback = json_get<bool>(node, "byte_fallback", where, false),
      .continuing_prefix =
          json_get<std::string>(node, "continuing_subword_prefix", where, ""),
      .end_suffix = json_get<std::string>(node, "end_of_word_suffix", where, "")};
  const std::vector<Bpe::Merge> merges =
      read_merges(node, vocabulary, options.continuing_prefix, where);
  return std::make_unique<Bpe>(
      std::move(vocabulary), merges, std::move(options), context);
}

}  // namespace titan::text

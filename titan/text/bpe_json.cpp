// Reading the "model" of a tokenizer.json.

#include "titan/base/error.h"
#include "titan/text/bpe.h"

namespace titan::text {
namespace {

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

std::vector<Bpe::Merge> read_merges(
    const Json& node, const Vocabulary& vocabulary, const std::string& where) {
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
    merges.push_back({id_of(left), id_of(right), id_of(left + right)});
  }
  return merges;
}

void refuse_variants(const Json& node, const std::string& where) {
  if (json_get<bool>(node, "byte_fallback", where, false)) {
    fail<FormatError>("{}: byte_fallback is not supported", where);
  }
  if (json_get<double>(node, "dropout", where, 0.0) != 0.0) {
    fail<FormatError>("{}: dropout is not supported: ids would be random", where);
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!json_get<std::string>(node, affix, where, "").empty()) {
      fail<FormatError>("{}: {} is not supported", where, affix);
    }
  }
}

}  // namespace

std::unique_ptr<Model> make_bpe(
    const Json& node,
    const std::string& where,
    const std::unordered_set<int32_t>& control_ids) {
  refuse_variants(node, where);
  Vocabulary vocabulary = read_vocabulary(node, where);
  const std::vector<Bpe::Merge> merges = read_merges(node, vocabulary, where);
  BpeOptions options;
  options.fuse_unk = json_get<bool>(node, "fuse_unk", where, false);
  options.ignore_merges = json_get<bool>(node, "ignore_merges", where, false);
  const auto unknown = json_get<std::string>(node, "unk_token", where, "");
  if (!unknown.empty()) {
    const auto found = vocabulary.find(unknown);
    if (found == vocabulary.end()) {
      fail<FormatError>(
          "{}: unk_token \"{}\" is not a token of the vocabulary", where, unknown);
    }
    options.unk_id = found->second;
  }
  return std::make_unique<Bpe>(std::move(vocabulary), merges, options, control_ids);
}

std::unique_ptr<Model> make_model(
    const Json& node,
    const std::string& where,
    const std::unordered_set<int32_t>& control_ids) {
  // Old files leave the type out; they are all BPE where they have merges.
  const auto type = json_get<std::string>(node, "type", where, "BPE");
  if (type != "BPE") {
    fail<FormatError>("{}: type \"{}\" is not supported (known: BPE)", where, type);
  }
  return make_bpe(node, where, control_ids);
}

}  // namespace titan::text

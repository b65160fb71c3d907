#include "titan/text/post_processor.h"

#include <optional>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/component.h"

namespace titan::text {
namespace {

// Only moves character offsets in the reference; titan keeps none.
class ByteLevel : public PostProcessor {
 public:
  std::vector<int32_t> process(std::vector<int32_t> ids) const override { return ids; }
};

class Template : public PostProcessor {
 public:
  // The ids of a special token, or nullopt where the text goes.
  using Item = std::optional<std::vector<int32_t>>;

  explicit Template(std::vector<Item> items) : items_(std::move(items)) {}

  std::vector<int32_t> process(std::vector<int32_t> ids) const override {
    std::vector<int32_t> result;
    for (const Item& item : items_) {
      const std::vector<int32_t>& part = item ? *item : ids;
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  }

 private:
  std::vector<Item> items_;
};

class Sequence : public PostProcessor {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PostProcessor>> parts)
      : parts_(std::move(parts)) {}

  std::vector<int32_t> process(std::vector<int32_t> ids) const override {
    for (const auto& part : parts_) {
      ids = part->process(std::move(ids));
    }
    return ids;
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> parts_;
};

// {"SpecialToken": {"id": "<s>"}} or {"Sequence": {"id": "A"}}.
Template::Item read_item(
    const Json& node, const Json& special_tokens, const std::string& where) {
  if (!node.is_object() || node.size() != 1) {
    fail<FormatError>("{}: expected one SpecialToken or Sequence", where);
  }
  const std::string kind = node.begin().key();
  const auto id = json_get<std::string>(node.begin().value(), "id", where);
  if (kind == "Sequence" && id == "A") {
    return std::nullopt;
  }
  if (kind != "SpecialToken") {
    fail<FormatError>(
        "{}: expected SpecialToken or Sequence A, got {} {}", where, kind, id);
  }
  const auto token = special_tokens.find(id);
  if (token == special_tokens.end()) {
    fail<FormatError>("{}: \"{}\" is not among the special_tokens", where, id);
  }
  const auto ids = json_get<std::vector<int64_t>>(*token, "ids", where);
  return std::vector<int32_t>(ids.begin(), ids.end());
}

std::unique_ptr<PostProcessor> make_byte_level(const Json&, const std::string&) {
  return std::make_unique<ByteLevel>();
}

std::unique_ptr<PostProcessor> make_template(const Json& node, const std::string& where) {
  const auto single = node.find("single");
  const auto special_tokens = node.find("special_tokens");
  if (single == node.end() || !single->is_array()) {
    fail<FormatError>("{}: expected a list \"single\"", where);
  }
  if (special_tokens == node.end() || !special_tokens->is_object()) {
    fail<FormatError>("{}: expected an object \"special_tokens\"", where);
  }
  std::vector<Template::Item> items;
  for (size_t i = 0; i < single->size(); ++i) {
    items.push_back(
        read_item((*single)[i], *special_tokens, fmt::format("{}.single.{}", where, i)));
  }
  return std::make_unique<Template>(std::move(items));
}

// The id in the pair [token, id] that is the member `key`.
int32_t read_token_pair(const Json& node, const char* key, const std::string& where) {
  const auto pair = node.find(key);
  if (pair == node.end() || !pair->is_array() || pair->size() != 2 ||
      !(*pair)[1].is_number_integer()) {
    fail<FormatError>("{}: {}: expected [token, id]", where, key);
  }
  return (*pair)[1].get<int32_t>();
}

// BertProcessing and RobertaProcessing: one token before and one behind.
std::unique_ptr<PostProcessor> make_surrounding(
    const Json& node, const std::string& where) {
  return make_surrounding_post_processor(
      {read_token_pair(node, "cls", where)}, {read_token_pair(node, "sep", where)});
}

std::unique_ptr<PostProcessor> make_post_processor_sequence(
    const Json& node, const std::string& where) {
  return std::make_unique<Sequence>(
      make_sequence<PostProcessor>(node, "processors", where, make_post_processor));
}

constexpr Component<PostProcessor> kPostProcessors[] = {
    {"BertProcessing", make_surrounding},
    {"ByteLevel", make_byte_level},
    {"RobertaProcessing", make_surrounding},
    {"TemplateProcessing", make_template},
    {"Sequence", make_post_processor_sequence}};

}  // namespace

std::unique_ptr<PostProcessor> make_post_processor(
    const Json& node, const std::string& where) {
  return make_component<PostProcessor>(node, where, kPostProcessors);
}

std::unique_ptr<PostProcessor> make_surrounding_post_processor(
    std::vector<int32_t> before, std::vector<int32_t> behind) {
  return std::make_unique<Template>(
      std::vector<Template::Item>{std::move(before), std::nullopt, std::move(behind)});
}

}  // namespace titan::text

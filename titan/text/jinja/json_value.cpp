#include "titan/text/jinja/json_value.h"

#include <limits>
#include <optional>

#include "titan/base/error.h"
#include "titan/text/jinja/python_characters.h"
#include "titan/text/utf8.h"

namespace titan::text::jinja {
namespace {

class Converter {
 public:
  Converter(Mark mark, Arena& arena, std::string_view what, bool copy_text)
      : mark_(mark), arena_(arena), what_(what), copy_text_(copy_text) {}

  Value convert(const Json& json, uint32_t depth) {
    switch (json.type()) {
      case Json::value_t::null:
        return Value::none();
      case Json::value_t::boolean:
        return Value(json.get<bool>());
      case Json::value_t::number_integer:
        return Value(json.get<int64_t>());
      case Json::value_t::number_unsigned:
        return convert_unsigned(json.get<uint64_t>());
      case Json::value_t::number_float:
        return Value(json.get<double>());
      case Json::value_t::string:
        return convert_text(json.get_ref<const std::string&>());
      case Json::value_t::array:
        return convert_array(json, depth);
      case Json::value_t::object:
        return convert_object(json, depth);
      default:
        fail<InputError>("{}: a binary value is not supported", what_);
    }
  }

 private:
  [[nodiscard]] Value convert_unsigned(uint64_t value) const {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      fail<InputError>("{}: the integer {} is beyond 64 bits", what_, value);
    }
    return Value(static_cast<int64_t>(value));
  }

  [[nodiscard]] Value convert_text(std::string_view text) {
    const std::optional<size_t> offset =
        is_ascii(text) ? std::nullopt : find_invalid_utf8(text);
    if (offset) {
      fail<InputError>("{}: not UTF-8: byte {} of {}", what_, *offset, text.size());
    }
    return make_string(
        arena_, String{copy_text_ ? arena_.copy(text) : text, mark_, {}, false});
  }

  void check_depth(uint32_t depth) const {
    if (depth >= kMaxNesting) {
      fail<InputError>("{}: nested deeper than {} levels", what_, kMaxNesting);
    }
  }

  [[nodiscard]] Value convert_array(const Json& json, uint32_t depth) {
    check_depth(depth);
    const std::span<Value> items = arena_.make_array<Value>(json.size());
    for (size_t i = 0; i < items.size(); ++i) {
      items[i] = convert(json[i], depth + 1);
    }
    return make_list(arena_, items);
  }

  [[nodiscard]] Value convert_object(const Json& json, uint32_t depth) {
    check_depth(depth);
    const auto& members = json.get_ref<const Json::object_t&>();
    const std::span<Dict::Entry> entries = arena_.make_array<Dict::Entry>(members.size());
    size_t i = 0;
    for (const auto& [key, value] : members) {
      entries[i++] = {convert_text(key), convert(value, depth + 1)};
    }
    return make_dict(arena_, entries);
  }

  Mark mark_;
  Arena& arena_;
  std::string_view what_;
  bool copy_text_;
};

}  // namespace

Value to_value(const Json& json, Mark mark, Arena& arena, std::string_view what) {
  return Converter(mark, arena, what, false).convert(json, 0);
}

Value to_value_copying(const Json& json, Mark mark, Arena& arena, std::string_view what) {
  return Converter(mark, arena, what, true).convert(json, 0);
}

}  // namespace titan::text::jinja

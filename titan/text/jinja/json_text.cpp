// Python's json.dumps().

#include <algorithm>
#include <cmath>
#include <vector>

#include "titan/text/jinja/number_text.h"
#include "titan/text/jinja/print.h"
#include "titan/text/jinja/python_characters.h"

namespace titan::text::jinja {
namespace {

// Writes one value. All of its text, punctuation too, has the mark of the data in it.
class JsonWriter {
 public:
  JsonWriter(Context& context, const JsonStyle& style)
      : context_(context), style_(style) {
    text_.reserve(kUsualSize);
  }

  void write(const Value& value) {
    context_.count(1);
    switch (value.kind()) {
      case Kind::kNone:
        text_ += "null";
        return;
      case Kind::kBool:
        text_ += value.boolean() ? "true" : "false";
        return;
      case Kind::kInt:
        text_ += fmt::format_int(value.integer()).c_str();
        return;
      case Kind::kFloat:
        write_float(value.number());
        return;
      case Kind::kString:
        write_string(value.string());
        return;
      case Kind::kList:
      case Kind::kTuple:
        write_list(value.items());
        return;
      case Kind::kDict:
        write_dict(value.dict());
        return;
      default:
        context_.defined(value);
        context_.fail("tojson: a {} is not JSON", type_name(value));
    }
  }

  [[nodiscard]] Value finish() {
    check_size();
    return make_string(
        context_.arena, String{context_.arena.copy(text_), mark_, {}, false});
  }

 private:
  static constexpr size_t kUsualSize = 4096;  // of a tool's definition, and less

  void write_float(double value) {
    if (std::isfinite(value)) {
      text_ += float_repr(value);
    } else {
      text_ += std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
    }
  }

  void write_string(const String& string) {
    if (mark_.source == 0) {
      mark_ = string.strongest_mark();
    }
    text_ += '"';
    size_t plain = 0;  // what is before it is written
    const std::string_view text = string.text;
    for (size_t at = 0; at < text.size();) {
      const auto byte = static_cast<unsigned char>(text[at]);
      if (byte >= 0x20 && byte != '"' && byte != '\\' && (byte < 0x7F || !style_.ascii)) {
        ++at;
        continue;
      }
      text_ += text.substr(plain, at - plain);
      const Character character = character_at(text, at);
      write_escape(character.point);
      at += character.size;
      plain = at;
    }
    text_ += text.substr(plain);
    text_ += '"';
    check_size();
  }

  void write_escape(char32_t point) {
    constexpr std::string_view kNamed = "\"\"\\\\n\nr\rt\tb\bf\f";
    for (size_t i = 0; i < kNamed.size(); i += 2) {
      if (point == static_cast<unsigned char>(kNamed[i + 1])) {
        text_ += '\\';
        text_ += kNamed[i];
        return;
      }
    }
    auto code = static_cast<uint32_t>(point);
    if (code >= 0x10000) {
      code -= 0x10000;
      text_ += fmt::format("\\u{:04x}", 0xD800 + (code >> 10));
      code = 0xDC00 + (code & 0x3FF);
    }
    text_ += fmt::format("\\u{:04x}", code);
  }

  // A bracket, a comma or nothing, and then where the next item goes.
  void begin_item(std::string_view punctuation) {
    text_ += punctuation;
    if (style_.indent) {
      text_ += '\n';
      for (size_t i = 0; i < level_; ++i) {
        text_ += *style_.indent;
      }
      check_size();
    }
  }

  void write_list(std::span<const Value> items) {
    if (items.empty()) {
      text_ += "[]";
      return;
    }
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      begin_item(i == 0 ? "[" : style_.item_separator);
      write(items[i]);
    }
    --level_;
    begin_item("");
    text_ += ']';
  }

  void write_dict(const Dict& dict) {
    if (dict.entries.empty()) {
      text_ += "{}";
      return;
    }
    std::span<const Dict::Entry> entries = dict.entries;
    std::vector<Dict::Entry> sorted;
    if (style_.sort_keys) {
      sorted = sort(entries);
      entries = sorted;
    }
    ++level_;
    for (size_t i = 0; i < entries.size(); ++i) {
      begin_item(i == 0 ? "{" : style_.item_separator);
      write_key(entries[i].key);
      text_ += style_.key_separator;
      write(entries[i].value);
    }
    --level_;
    begin_item("");
    text_ += '}';
  }

  [[nodiscard]] std::vector<Dict::Entry> sort(
      std::span<const Dict::Entry> entries) const {
    for (const Dict::Entry& entry : entries) {
      if (!entry.key.is(Kind::kString)) {
        context_.fail("tojson: keys that are not all str cannot be sorted");
      }
    }
    std::vector<Dict::Entry> sorted(entries.begin(), entries.end());
    std::ranges::stable_sort(
        sorted, {}, [](const Dict::Entry& entry) { return entry.key.text(); });
    return sorted;
  }

  void write_key(const Value& key) {
    if (key.is(Kind::kString)) {
      write_string(key.string());
    } else if (key.is_number() || key.is(Kind::kNone)) {
      text_ += '"';
      write(key);
      text_ += '"';
    } else {
      context_.fail("tojson: a {} cannot be a key", type_name(key));
    }
  }

  void check_size() const {
    if (text_.size() > context_.limits.text) {
      throw LimitReached{"size of text"};
    }
  }

  Context& context_;
  const JsonStyle& style_;
  std::string text_;
  Mark mark_;
  size_t level_ = 0;
};

}  // namespace

Value to_json(Context& context, const Value& value, const JsonStyle& style) {
  JsonWriter writer(context, style);
  writer.write(value);
  return writer.finish();
}

}  // namespace titan::text::jinja

#include "titan/text/jinja/print.h"

#include <string>

#include <fmt/format.h>

#include "titan/text/jinja/number_text.h"
#include "titan/text/jinja/python_characters.h"

namespace titan::text::jinja {
namespace {

void append_escaped(std::string& out, char32_t point) {
  const auto code = static_cast<uint32_t>(point);
  if (code < 0x100) {
    out += fmt::format("\\x{:02x}", code);
  } else if (code < 0x10000) {
    out += fmt::format("\\u{:04x}", code);
  } else {
    out += fmt::format("\\U{:08x}", code);
  }
}

std::string repr_of_text(std::string_view text) {
  const bool has_single = text.find('\'') != text.npos;
  const char quote = has_single && text.find('"') == text.npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const std::string_view bytes = text.substr(at, character.size);
    at += character.size;
    switch (character.point) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        if (bytes[0] == quote) {
          out += '\\';
          out += quote;
        } else if (is_printable(character.point)) {
          out += bytes;
        } else {
          append_escaped(out, character.point);
        }
    }
  }
  return out + quote;
}

void print_items(Context& context, const Value& value) {
  const bool tuple = value.is(Kind::kTuple);
  context.text.append(tuple ? "(" : "[", {});
  const std::span<const Value> items = value.items();
  for (size_t i = 0; i < items.size(); ++i) {
    context.text.append(i == 0 ? "" : ", ", {});
    print_repr(context, items[i]);
  }
  context.text.append(tuple ? (items.size() == 1 ? ",)" : ")") : "]", {});
}

void print_dict(Context& context, const Dict& dict) {
  context.text.append("{", {});
  bool first = true;
  for (const Dict::Entry& entry : dict.entries) {
    context.text.append(first ? "" : ", ", {});
    first = false;
    print_repr(context, entry.key);
    context.text.append(": ", {});
    print_repr(context, entry.value);
  }
  context.text.append("}", {});
}

}  // namespace

void print(Context& context, const Value& value) {
  if (value.is(Kind::kString)) {
    context.text.append(value.string());
  } else if (!value.is_undefined()) {
    print_repr(context, value);
  }
}

void print_repr(Context& context, const Value& value) {
  context.count(1);
  switch (value.kind()) {
    case Kind::kUndefined:
      context.text.append("Undefined", {});
      return;
    case Kind::kNone:
      context.text.append("None", {});
      return;
    case Kind::kBool:
      context.text.append(value.boolean() ? "True" : "False", {});
      return;
    case Kind::kInt:
      context.text.append(fmt::format_int(value.integer()).c_str(), {});
      return;
    case Kind::kFloat:
      context.text.append(float_repr(value.number()), {});
      return;
    case Kind::kString:
      context.text.append(repr_of_text(value.text()), value.string().strongest_mark());
      return;
    case Kind::kList:
    case Kind::kTuple:
      print_items(context, value);
      return;
    case Kind::kDict:
      print_dict(context, value.dict());
      return;
    default:
      context.fail("a {} cannot be printed", type_name(value));
  }
}

}  // namespace titan::text::jinja

// The filters that give text.

#include "titan/text/jinja/callable.h"
#include "titan/text/jinja/operators.h"
#include "titan/text/jinja/text_operations.h"

namespace titan::text::jinja {
namespace {

Value finish(Context& context, size_t begin) {
  return make_string(context.arena, context.text.take(begin, context.arena));
}

template <Case kCase>
Value change_case(Context& context, const Value& self, const Arguments&) {
  return with_case(context, context.to_string(self), kCase);
}

// Words begin after white space, "-" and opening brackets, unlike in str.title().
Value title(Context& context, const Value& self, const Arguments&) {
  const String& string = context.to_string(self);
  const std::string_view text = string.text;
  const auto separates = [&](size_t at) {
    return is_python_space(character_at(text, at).point) ||
           std::string_view("-({[<").find(text[at]) != text.npos;
  };
  const size_t begin = context.text.size();
  const auto append = [&](size_t from, size_t to, Case target) {
    const String part = string.part(from, to, context.arena);
    context.text.append(with_case(context, part, target).string());
  };
  bool at_start = true;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + character_at(text, at).size;
    const bool separator = separates(at);
    if (!separator && !at_start) {
      while (end < text.size() && !separates(end)) {
        end += character_at(text, end).size;
      }
    }
    append(at, end, at_start && !separator ? Case::kUpper : Case::kLower);
    at_start = separator;
    at = end;
  }
  return finish(context, begin);
}

Value trim(Context& context, const Value& self, const Arguments& arguments) {
  return strip(context, context.to_string(self), arguments.positional[0], Side::kBoth);
}

Value replace(Context& context, const Value& self, const Arguments& arguments) {
  const Value& count = arguments.positional[2];
  const bool all = count.is_missing() || count.is(Kind::kNone);
  return replace_text(
      context,
      context.to_string(self),
      context.to_string(arguments.positional[0]),
      context.to_string(arguments.positional[1]),
      all ? -1 : context.to_integer(count, "replace"));
}

Value to_text(Context& context, const Value& self, const Arguments&) {
  return Value(&context.to_string(self));
}

Value escape(Context& context, const Value& self, const Arguments&) {
  return escape_html(context, context.to_string(self));
}

Value safe(Context& context, const Value& self, const Arguments&) {
  String string = context.to_string(self);
  string.is_safe = true;
  return make_string(context.arena, string);
}

Value format(Context& context, const Value& self, const Arguments& arguments) {
  if (!arguments.keywords.empty()) {
    context.fail("format: keyword arguments are not supported");
  }
  return format_percent(context, context.to_string(self), arguments.positional);
}

Value indent(Context& context, const Value& self, const Arguments& arguments) {
  const auto flag = [&](size_t i) {
    return !arguments.positional[i].is_missing() && arguments.positional[i].truth();
  };
  const Value& width = arguments.positional[0];
  const String* indention = nullptr;
  if (width.is(Kind::kString)) {
    indention = &width.string();
  } else {
    const int64_t count = width.is_missing() ? 4 : context.to_integer(width, "indent");
    indention = &calculate(
                     context,
                     Arithmetic::kMultiply,
                     make_string(context.arena, " "),
                     Value(count))
                     .string();
  }
  if (!context.defined(self).is(Kind::kString)) {
    context.fail("indent: expected a str, got {}", type_name(self));
  }
  // With one more line end, so that a last, empty line counts as one.
  size_t begin = context.text.size();
  context.text.append(self.string());
  context.text.append("\n", {});
  const String string = context.text.take(begin, context.arena);
  const std::span<const Value> lines = split_lines(context, string, false);
  begin = context.text.size();
  if (flag(1)) {
    context.text.append(*indention);
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      context.text.append("\n", {});
      if (flag(2) || !lines[i].text().empty()) {
        context.text.append(*indention);
      }
    }
    context.text.append(lines[i].string());
  }
  return finish(context, begin);
}

constexpr Builtin kFilters[] = {
    {.name = "capitalize", .function = change_case<Case::kCapitalize>},
    {.name = "e", .function = escape},
    {.name = "escape", .function = escape},
    {.name = "format", .function = format, .any_arguments = true},
    {.name = "indent", .function = indent, .parameters = {"width", "first", "blank"}},
    {.name = "lower", .function = change_case<Case::kLower>},
    {.name = "replace",
     .function = replace,
     .parameters = {"old", "new", "count"},
     .required = 2},
    {.name = "safe", .function = safe},
    {.name = "string", .function = to_text},
    {.name = "title", .function = title},
    {.name = "trim", .function = trim, .parameters = {"chars"}},
    {.name = "upper", .function = change_case<Case::kUpper>},
};

}  // namespace

std::span<const Builtin> text_filters() {
  return kFilters;
}

}  // namespace titan::text::jinja

// The filters on single values: numbers, defaults and JSON.

#include <cmath>
#include <optional>
#include <string>

#include "titan/base/json.h"
#include "titan/text/jinja/callable.h"
#include "titan/text/jinja/json_value.h"
#include "titan/text/jinja/number_text.h"
#include "titan/text/jinja/operators.h"
#include "titan/text/jinja/print.h"

namespace titan::text::jinja {
namespace {

bool is_given(const Value& value) {
  return !value.is_missing() && !value.is(Kind::kNone);
}

Value default_value(Context& context, const Value& self, const Arguments& arguments) {
  const Value& otherwise = arguments.positional[0];
  const Value& for_false_too = arguments.positional[1];
  const bool replace_false = !for_false_too.is_missing() && for_false_too.truth();
  if (!self.is_undefined() && !(replace_false && !self.truth())) {
    return self;
  }
  return otherwise.is_missing() ? make_string(context.arena, "") : otherwise;
}

Value absolute(Context& context, const Value& self, const Arguments&) {
  if (self.is(Kind::kFloat)) {
    return Value(std::fabs(self.number()));
  }
  const int64_t value = context.to_integer(self, "abs");
  return value < 0 ? negate(context, self) : Value(value);
}

// The whole part; nothing where it does not fit.
std::optional<int64_t> truncate(double value) {
  constexpr double kBound = 9223372036854775808.0;  // 2 to the 63
  const double whole = std::trunc(value);
  if (!(whole >= -kBound && whole < kBound)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(whole);
}

Value to_int(Context& context, const Value& self, const Arguments& arguments) {
  const Value& otherwise = arguments.positional[0];
  const Value& base = arguments.positional[1];
  std::optional<int64_t> result;
  if (context.defined(self).is(Kind::kString)) {
    const int64_t wanted = base.is_missing() ? 10 : context.to_integer(base, "int");
    if (wanted < 0 || wanted == 1 || wanted > 36) {
      context.fail("int: base {} is not 0 or 2 .. 36", wanted);
    }
    result = parse_int(self.text(), static_cast<int>(wanted));
    if (const std::optional<double> number = parse_float(self.text());
        !result && number) {
      result = truncate(*number);
    }
  } else if (self.is(Kind::kFloat)) {
    result = truncate(self.number());
  } else if (self.is_integral()) {
    result = self.integer();
  }
  if (result) {
    return Value(*result);
  }
  return otherwise.is_missing() ? Value(int64_t{0}) : otherwise;
}

Value to_float(Context& context, const Value& self, const Arguments& arguments) {
  if (context.defined(self).is_number()) {
    return Value(self.number());
  }
  if (self.is(Kind::kString)) {
    if (const std::optional<double> result = parse_float(self.text())) {
      return Value(*result);
    }
  }
  const Value& otherwise = arguments.positional[0];
  return otherwise.is_missing() ? Value(0.0) : otherwise;
}

Value round(Context& context, const Value& self, const Arguments& arguments) {
  const Value& precision = arguments.positional[0];
  const Value& method = arguments.positional[1];
  if (!context.defined(self).is_number()) {
    context.fail("round: expected a number, got {}", type_name(self));
  }
  const int64_t wanted =
      precision.is_missing() ? 0 : context.to_integer(precision, "round");
  const auto digits = static_cast<int>(std::clamp<int64_t>(wanted, -400, 400));
  const std::string_view how =
      method.is(Kind::kString) ? method.text() : std::string_view("common");
  if (how == "common") {
    if (self.is_integral() && digits >= 0) {
      return Value(self.integer());
    }
    const double rounded = round_to(self.number(), digits);
    return self.is_integral() ? Value(static_cast<int64_t>(rounded)) : Value(rounded);
  }
  if (how != "ceil" && how != "floor") {
    context.fail("round: expected \"common\", \"ceil\" or \"floor\", got \"{}\"", how);
  }
  const double scale = std::pow(10.0, digits);
  const double scaled = self.number() * scale;
  return Value((how == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

// An indent of Python's json: a number of spaces, or the text itself.
std::string json_indent(Context& context, const Value& value) {
  if (value.is(Kind::kString)) {
    return std::string(value.text());
  }
  const int64_t width = context.to_integer(value, "tojson: indent");
  if (width > 1000) {
    context.fail("tojson: an indent of {} is not supported", width);
  }
  return std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
}

Value tojson(Context& context, const Value& self, const Arguments& arguments) {
  const Value& ascii = arguments.positional[0];
  const Value& indent = arguments.positional[1];
  const Value& separators = arguments.positional[2];
  const Value& sort_keys = arguments.positional[3];
  JsonStyle style;
  style.ascii = !ascii.is_missing() && ascii.truth();
  style.sort_keys = !sort_keys.is_missing() && sort_keys.truth();
  if (is_given(indent)) {
    style.indent = json_indent(context, indent);
    style.item_separator = ",";
  }
  if (is_given(separators)) {
    const bool pair = context.defined(separators).is_sequence() &&
                      separators.items().size() == 2 &&
                      separators.items()[0].is(Kind::kString) &&
                      separators.items()[1].is(Kind::kString);
    if (!pair) {
      context.fail("tojson: separators: expected two str");
    }
    style.item_separator = separators.items()[0].text();
    style.key_separator = separators.items()[1].text();
  }
  return to_json(context, self, style);
}

// Not in jinja2 or transformers, but in llama.cpp, whose templates use it.
Value from_json(Context& context, const Value& self, const Arguments&) {
  if (!context.defined(self).is(Kind::kString)) {
    context.fail("from_json: expected a str, got {}", type_name(self));
  }
  try {
    return to_value_copying(
        parse_json(self.text(), "from_json"),
        self.string().strongest_mark(),
        context.arena,
        "from_json");
  } catch (const FormatError& error) {
    context.fail_with(error.what());
  }
}

constexpr Builtin kFilters[] = {
    {.name = "abs", .function = absolute},
    {.name = "d", .function = default_value, .parameters = {"default_value", "boolean"}},
    {.name = "default",
     .function = default_value,
     .parameters = {"default_value", "boolean"}},
    {.name = "float", .function = to_float, .parameters = {"default"}},
    {.name = "from_json", .function = from_json},
    {.name = "int", .function = to_int, .parameters = {"default", "base"}},
    {.name = "round", .function = round, .parameters = {"precision", "method"}},
    {.name = "tojson",
     .function = tojson,
     .parameters = {"ensure_ascii", "indent", "separators", "sort_keys"}},
};

}  // namespace

std::span<const Builtin> value_filters() {
  return kFilters;
}

}  // namespace titan::text::jinja

// The methods of str.

#include "titan/text/jinja/callable.h"
#include "titan/text/jinja/text_operations.h"

namespace titan::text::jinja {
namespace {

const String& text_argument(Context& context, const Value& value) {
  if (!context.defined(value).is(Kind::kString)) {
    context.fail("expected a str argument, got {}", type_name(value));
  }
  return value.string();
}

int64_t integer_or(Context& context, const Value& value, int64_t otherwise) {
  return value.is_missing() || value.is(Kind::kNone)
             ? otherwise
             : context.to_integer(value, "argument");
}

template <Side kSide>
Value strip_method(Context& context, const Value& self, const Arguments& arguments) {
  return strip(context, self.string(), arguments.positional[0], kSide);
}

template <Case kCase>
Value case_method(Context& context, const Value& self, const Arguments&) {
  return with_case(context, self.string(), kCase);
}

template <CharacterClass kClass>
Value class_method(Context&, const Value& self, const Arguments&) {
  return Value(is_class(self.text(), kClass));
}

// The part from argument 1 to argument 2, which count characters as in a slice.
std::string_view searched(
    Context& context, const Value& self, const Arguments& arguments, size_t& begin) {
  const auto size = static_cast<int64_t>(count_characters(self.text()));
  const auto place = [&](const Value& value, int64_t otherwise) {
    const int64_t index = integer_or(context, value, otherwise);
    const int64_t from_start = index < 0 ? std::max<int64_t>(0, index + size) : index;
    return static_cast<size_t>(from_start);
  };
  begin = place(arguments.positional[1], 0);
  const size_t end = place(arguments.positional[2], size);
  if (begin > static_cast<size_t>(size) || end < begin) {
    begin = std::string_view::npos;
    return {};
  }
  const size_t first = character_offset(self.text(), begin);
  return self.text().substr(first, character_offset(self.text(), end) - first);
}

// startswith() and endswith(): of a str or of any of a tuple of them.
template <bool kStart>
Value affix_method(Context& context, const Value& self, const Arguments& arguments) {
  size_t begin = 0;
  const std::string_view text = searched(context, self, arguments, begin);
  const auto matches = [&](const Value& affix) {
    const std::string_view wanted = text_argument(context, affix).text;
    return begin != text.npos &&
           (kStart ? text.starts_with(wanted) : text.ends_with(wanted));
  };
  const Value& affix = arguments.positional[0];
  if (!affix.is(Kind::kTuple)) {
    return Value(matches(affix));
  }
  return Value(std::ranges::any_of(affix.items(), matches));
}

enum class Search { kFind, kFindLast, kIndex, kIndexLast };

template <Search kSearch>
Value find_method_of(Context& context, const Value& self, const Arguments& arguments) {
  constexpr bool kLast = kSearch == Search::kFindLast || kSearch == Search::kIndexLast;
  constexpr bool kMust = kSearch == Search::kIndex || kSearch == Search::kIndexLast;
  const std::string_view wanted = text_argument(context, arguments.positional[0]).text;
  size_t begin = 0;
  const std::string_view text = searched(context, self, arguments, begin);
  const size_t found = begin == text.npos ? text.npos
                       : kLast            ? text.rfind(wanted)
                                          : text.find(wanted);
  if (found == text.npos) {
    if (kMust) {
      context.fail("index: the substring is not found");
    }
    return Value(int64_t{-1});
  }
  return Value(static_cast<int64_t>(begin + count_characters(text.substr(0, found))));
}

Value count_method(Context& context, const Value& self, const Arguments& arguments) {
  const std::string_view wanted = text_argument(context, arguments.positional[0]).text;
  size_t begin = 0;
  const std::string_view text = searched(context, self, arguments, begin);
  if (begin == text.npos) {
    return Value(int64_t{0});
  }
  if (wanted.empty()) {
    return Value(static_cast<int64_t>(count_characters(text) + 1));
  }
  int64_t count = 0;
  for (size_t at = text.find(wanted); at != text.npos;
       at = text.find(wanted, at + wanted.size())) {
    ++count;
  }
  return Value(count);
}

Value split_method(Context& context, const Value& self, const Arguments& arguments) {
  return split_text(
      context,
      self.string(),
      arguments.positional[0],
      integer_or(context, arguments.positional[1], -1));
}

Value rsplit_method(Context& context, const Value& self, const Arguments& arguments) {
  return split_text_from_end(
      context,
      self.string(),
      arguments.positional[0],
      integer_or(context, arguments.positional[1], -1));
}

Value splitlines_method(Context& context, const Value& self, const Arguments& arguments) {
  const Value& keep_ends = arguments.positional[0];
  return make_list(
      context.arena,
      split_lines(context, self.string(), !keep_ends.is_missing() && keep_ends.truth()));
}

template <bool kLast>
Value partition_method(Context& context, const Value& self, const Arguments& arguments) {
  const String& string = self.string();
  const String& separator = text_argument(context, arguments.positional[0]);
  if (separator.text.empty()) {
    context.fail("partition: the separator is empty");
  }
  const size_t at =
      kLast ? string.text.rfind(separator.text) : string.text.find(separator.text);
  const std::span<Value> parts = context.arena.make_array<Value>(3);
  std::ranges::fill(parts, make_string(context.arena, ""));
  if (at == string.text.npos) {
    parts[kLast ? 2 : 0] = self;
  } else {
    const size_t end = at + separator.text.size();
    parts[0] = make_string(context.arena, string.part(0, at, context.arena));
    parts[1] = arguments.positional[0];
    parts[2] =
        make_string(context.arena, string.part(end, string.text.size(), context.arena));
  }
  return make_tuple_value(context.arena, parts);
}

Value replace_method(Context& context, const Value& self, const Arguments& arguments) {
  return replace_text(
      context,
      self.string(),
      text_argument(context, arguments.positional[0]),
      text_argument(context, arguments.positional[1]),
      integer_or(context, arguments.positional[2], -1));
}

Value join_method(Context& context, const Value& self, const Arguments& arguments) {
  const std::span<const Value> items =
      context.iterate(context.defined(arguments.positional[0]));
  context.count(items.size());
  const size_t begin = context.text.size();
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) {
      context.text.append(self.string());
    }
    context.text.append(text_argument(context, items[i]));
  }
  return make_string(context.arena, context.text.take(begin, context.arena));
}

template <bool kPrefix>
Value remove_affix(Context& context, const Value& self, const Arguments& arguments) {
  const String& string = self.string();
  const std::string_view affix = text_argument(context, arguments.positional[0]).text;
  if (!(kPrefix ? string.text.starts_with(affix) : string.text.ends_with(affix))) {
    return self;
  }
  const size_t rest = string.text.size() - affix.size();
  return make_string(
      context.arena,
      kPrefix ? string.part(affix.size(), string.text.size(), context.arena)
              : string.part(0, rest, context.arena));
}

// `{}`, `{0}` and `{name}`; `{{` and `}}` are braces.
Value format_method(Context& context, const Value& self, const Arguments& arguments) {
  const String& format = self.string();
  const std::string_view text = format.text;
  const size_t begin = context.text.size();
  size_t next = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t brace = std::min(text.find_first_of("{}", at), text.size());
    context.text.append(format, at, brace);
    if (brace == text.size()) {
      break;
    }
    if (text.substr(brace, 2) == "{{" || text.substr(brace, 2) == "}}") {
      context.text.append(format, brace, brace + 1);
      at = brace + 2;
      continue;
    }
    const size_t end = text.find('}', brace);
    if (text[brace] == '}' || end == text.npos) {
      context.fail("format: a brace without its counterpart");
    }
    const std::string_view field = text.substr(brace + 1, end - brace - 1);
    if (field.find_first_of(".[:!{") != field.npos) {
      context.fail("format: \"{{{}}}\" is not supported, only names and numbers", field);
    }
    const bool number = field.find_first_not_of("0123456789") == field.npos;
    size_t index = next;
    if (field.empty()) {
      ++next;
    } else if (number) {
      index = field.size() > 4 ? text.npos : std::stoul(std::string(field));
    }
    const Value* value = nullptr;
    if (!number) {
      value = arguments.find(field);
    } else if (index < arguments.positional.size()) {
      value = &arguments.positional[index];
    }
    if (value == nullptr) {
      context.fail("format: there is no argument for \"{{{}}}\"", field);
    }
    context.text.append(context.to_string(*value));
    at = end + 1;
  }
  return make_string(context.arena, context.text.take(begin, context.arena));
}

constexpr Builtin kMethods[] = {
    {.name = "capitalize", .function = case_method<Case::kCapitalize>},
    {.name = "count",
     .function = count_method,
     .parameters = {"sub", "start", "end"},
     .required = 1},
    {.name = "endswith",
     .function = affix_method<false>,
     .parameters = {"suffix", "start", "end"},
     .required = 1},
    {.name = "find",
     .function = find_method_of<Search::kFind>,
     .parameters = {"sub", "start", "end"},
     .required = 1},
    {.name = "format", .function = format_method, .any_arguments = true},
    {.name = "index",
     .function = find_method_of<Search::kIndex>,
     .parameters = {"sub", "start", "end"},
     .required = 1},
    {.name = "isalnum", .function = class_method<CharacterClass::kAlnum>},
    {.name = "isalpha", .function = class_method<CharacterClass::kAlpha>},
    {.name = "isdigit", .function = class_method<CharacterClass::kDigit>},
    {.name = "islower", .function = class_method<CharacterClass::kLower>},
    {.name = "isspace", .function = class_method<CharacterClass::kSpace>},
    {.name = "isupper", .function = class_method<CharacterClass::kUpper>},
    {.name = "join", .function = join_method, .parameters = {"iterable"}, .required = 1},
    {.name = "lower", .function = case_method<Case::kLower>},
    {.name = "lstrip", .function = strip_method<Side::kLeft>, .parameters = {"chars"}},
    {.name = "partition",
     .function = partition_method<false>,
     .parameters = {"sep"},
     .required = 1},
    {.name = "removeprefix",
     .function = remove_affix<true>,
     .parameters = {"prefix"},
     .required = 1},
    {.name = "removesuffix",
     .function = remove_affix<false>,
     .parameters = {"suffix"},
     .required = 1},
    {.name = "replace",
     .function = replace_method,
     .parameters = {"old", "new", "count"},
     .required = 2},
    {.name = "rfind",
     .function = find_method_of<Search::kFindLast>,
     .parameters = {"sub", "start", "end"},
     .required = 1},
    {.name = "rindex",
     .function = find_method_of<Search::kIndexLast>,
     .parameters = {"sub", "start", "end"},
     .required = 1},
    {.name = "rpartition",
     .function = partition_method<true>,
     .parameters = {"sep"},
     .required = 1},
    {.name = "rsplit", .function = rsplit_method, .parameters = {"sep", "maxsplit"}},
    {.name = "rstrip", .function = strip_method<Side::kRight>, .parameters = {"chars"}},
    {.name = "split", .function = split_method, .parameters = {"sep", "maxsplit"}},
    {.name = "splitlines", .function = splitlines_method, .parameters = {"keepends"}},
    {.name = "startswith",
     .function = affix_method<true>,
     .parameters = {"prefix", "start", "end"},
     .required = 1},
    {.name = "strip", .function = strip_method<Side::kBoth>, .parameters = {"chars"}},
    {.name = "title", .function = case_method<Case::kTitle>},
    {.name = "upper", .function = case_method<Case::kUpper>},
};

}  // namespace

std::span<const Builtin> string_methods() {
  return kMethods;
}

}  // namespace titan::text::jinja

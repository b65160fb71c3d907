#pragma once
// What both string methods and filters do with text. Results keep the marks of the bytes
// they take over.

#include <cstdint>
#include <span>
#include <string_view>

#include "titan/text/jinja/context.h"
#include "titan/text/jinja/python_characters.h"

namespace titan::text::jinja {

enum class Side { kBoth, kLeft, kRight };

// str.strip(), lstrip(), rstrip(): of white space where `characters` is missing or None.
[[nodiscard]] Value strip(
    Context& context, const String& string, const Value& characters, Side side);

// str.replace(): at most `count` times, all where it is negative.
[[nodiscard]] Value replace_text(
    Context& context,
    const String& string,
    const String& from,
    const String& to,
    int64_t count);

// str.split(): at white space where `separator` is missing or None; at most `count` cuts,
// where it is not negative.
[[nodiscard]] Value split_text(
    Context& context, const String& string, const Value& separator, int64_t count);
// str.rsplit(): the cuts are taken from the end.
[[nodiscard]] Value split_text_from_end(
    Context& context, const String& string, const Value& separator, int64_t count);

// str.splitlines().
[[nodiscard]] std::span<const Value> split_lines(
    Context& context, const String& string, bool keep_ends);

// Where the characters keep their bytes' number the marks stay; else the result has the
// strongest one.
[[nodiscard]] Value with_case(Context& context, const String& string, Case target);

// &, <, >, " and ' as HTML entities; a string that is safe already stays as it is.
[[nodiscard]] Value escape_html(Context& context, const String& string);

// The characters in reverse.
[[nodiscard]] Value reverse_text(Context& context, const String& string);

}  // namespace titan::text::jinja

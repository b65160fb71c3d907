#pragma once
// Where Metaspace puts its mark in front of text.

#include <string>

#include "titan/base/json.h"

namespace titan::text {

enum class PrependScheme {
  kAlways,  // of every piece
  kFirst,   // of the piece that the whole input begins with
  kNever
};

// The members "prepend_scheme" and, in old files, "add_prefix_space". FormatError names
// any other scheme.
[[nodiscard]] PrependScheme read_prepend_scheme(
    const Json& node, const std::string& where);

}  // namespace titan::text

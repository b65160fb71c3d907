#pragma once
// A document as its file holds it, before it is tokenised.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "titan/base/json.h"
#include "titan/data/source.h"

namespace titan::data {

struct Chat {
  Json messages;  // a list of objects
  Json tools;     // a list, or null
};

// Ids in a memory map that the document's file owns; see Example.
struct Tokens {
  std::span<const int32_t> ids;
  std::span<const uint8_t> targets;
};

using Document = std::variant<std::string, Chat, Tokens>;

// The members of a record that read_record() looks at.
[[nodiscard]] std::vector<std::string> record_members(const SourceConfig& source);

// The document that one JSON object holds: by the source's kind, its text member, or its
// messages and tools. Messages in the form {"from", "value"} get the roles that their
// authors stand for. FormatError, with `where` + ":column: " in front: not one valid
// JSON object, or a member is missing, of another type or there twice.
[[nodiscard]] Document read_record(
    std::string_view json, const SourceConfig& source, const std::string& where);

}  // namespace titan::data

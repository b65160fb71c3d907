#pragma once
// The printable character that byte-level BPE writes for each byte (GPT-2's table): a
// visible Latin-1 character stands for itself, the other bytes for U+0100 and up in
// order.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan::text {

// The character of `byte`, as UTF-8.
[[nodiscard]] const std::string& byte_symbol(uint8_t byte);

// The bytes that `token` stands for; nullopt where one of its characters stands for none.
[[nodiscard]] std::optional<std::string> bytes_of_symbols(std::string_view token);

}  // namespace titan::text

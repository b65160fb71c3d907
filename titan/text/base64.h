#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace titan::text {

// The bytes of RFC 4648 base64 with its padding; nullopt where `text` is not that.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace titan::text

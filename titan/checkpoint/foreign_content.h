#pragma once
// What a file is that was expected to be a model file: downloads fail in recognisable
// ways.

#include <cstddef>
#include <span>
#include <string>

namespace titan::checkpoint {

// " (looks like ...)" for a Git LFS pointer or an HTML page, else empty; to be appended
// to an error message.
[[nodiscard]] std::string foreign_content_hint(std::span<const std::byte> file);

}  // namespace titan::checkpoint

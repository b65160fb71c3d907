#pragma once
// Numbers as a person reads them.

#include <cstdint>
#include <string>

namespace titan::observe {

// "950", "1.2k", "34.5M", "120B", "1.2T".
[[nodiscard]] std::string format_count(double value);

// "512 B", "3.4 GB"; decimal units.
[[nodiscard]] std::string format_bytes(int64_t bytes);

// "45s", "1m20s", "2h05m", "3d04h", rounded to the last unit shown; "-" for a negative or
// unknown (NaN) time.
[[nodiscard]] std::string format_duration(double seconds);

}  // namespace titan::observe

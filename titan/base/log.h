#pragma once
// Log lines on standard error: "titan: message", "titan: warning: message". Thread-safe.

#include <string_view>

#include <fmt/format.h>

namespace titan::log {

enum class Level { kError, kWarning, kInfo, kDebug };

// Lines above this level are dropped. Default kInfo.
void set_level(Level level);

// Shown in front of every line, e.g. "rank 3"; empty by default.
void set_prefix(std::string_view prefix);

// Writes one whole line; clears a progress line that stands on the terminal.
void write(Level level, std::string_view message);

// A line that the next one replaces; an ordinary line where standard error is no
// terminal.
void progress(std::string_view line);

template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kWarning, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace titan::log

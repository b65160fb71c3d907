#include "titan/base/log.h"

#include <cstdio>
#include <mutex>
#include <string>
#include <unistd.h>

namespace titan::log {
namespace {

struct State {
  std::mutex mutex;
  Level level = Level::kInfo;
  std::string prefix;
  bool progress_shown = false;
};

State& state() {
  static State instance;
  return instance;
}

const char* label(Level level) {
  switch (level) {
    case Level::kError:
      return "error: ";
    case Level::kWarning:
      return "warning: ";
    default:
      return "";
  }
}

constexpr const char* kClearLine = "\r\033[K";

}  // namespace

void set_level(Level level) {
  const std::lock_guard lock(state().mutex);
  state().level = level;
}

void set_prefix(std::string_view prefix) {
  const std::lock_guard lock(state().mutex);
  state().prefix = prefix.empty() ? "" : fmt::format("[{}] ", prefix);
}

void write(Level level, std::string_view message) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (level > s.level) {
    return;
  }
  const char* clear = s.progress_shown ? kClearLine : "";
  const std::string line =
      fmt::format("{}titan: {}{}{}\n", clear, s.prefix, label(level), message);
  s.progress_shown = false;
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

void progress(std::string_view line) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  if (!terminal) {
    write(Level::kInfo, line);
    return;
  }
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const std::string text = fmt::format("{}{}", kClearLine, line);
  s.progress_shown = !line.empty();
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace titan::log

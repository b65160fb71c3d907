#pragma once
// titan's exceptions. One channel for errors: throw here, catch only in main, at the
// server's boundary and in the run supervisor.

#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace titan {

// Base of every error that titan itself raises.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The recipe, an override or a combination of settings is wrong. Exit status 2.
class ConfigError : public Error {
 public:
  using Error::Error;
};

// A file name, an argument or a request is wrong. Exit status 2.
class InputError : public Error {
 public:
  using Error::Error;
};

// A file that was found does not hold what its format demands. Exit status 2.
class FormatError : public Error {
 public:
  using Error::Error;
};

// The machine refused: disk full, lock held by another process, no permission. Exit
// status 1.
class EnvironmentError : public Error {
 public:
  using Error::Error;
};

// The process exit status that `error` maps to: 2 where the user's input is wrong,
// else 1.
[[nodiscard]] int exit_status(const std::exception& error);

// `throw Kind(format(...))`, kept out of line so that call sites stay small.
template <class Kind, class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Kind(fmt::format(format, std::forward<Args>(args)...));
}

// The message of the current errno value, e.g. "No space left on device".
[[nodiscard]] std::string errno_text(int error_number);

}  // namespace titan

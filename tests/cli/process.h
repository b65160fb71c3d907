#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace titan::test {

struct ProcessResult {
  int status = 0;  // exit status, or 128 + signal
  std::string out;
  std::string err;
};

// Runs a shell command to its end and collects what it wrote.
[[nodiscard]] ProcessResult run_shell(const std::string& command);

// Runs the titan binary with shell-quoted arguments, in `folder` (empty: here).
[[nodiscard]] ProcessResult run_titan(
    const std::vector<std::string>& arguments, const std::string& folder = "");

// Starts the titan binary in the background, its output thrown away; its process id.
[[nodiscard]] pid_t start_titan(const std::vector<std::string>& arguments);

// The text as one word of a POSIX shell.
[[nodiscard]] std::string shell_quote(const std::string& text);

}  // namespace titan::test

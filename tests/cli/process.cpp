#include "tests/cli/process.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

#include "titan/base/files.h"

namespace titan::test {

std::string shell_quote(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

ProcessResult run_shell(const std::string& command) {
  static std::atomic<int> counter = 0;
  const std::string base =
      (std::filesystem::temp_directory_path() /
       ("titan-process-" + std::to_string(::getpid()) + "-" + std::to_string(counter++)))
          .string();
  const std::string line = "{ " + command + "\n} >" + base + ".out 2>" + base + ".err";
  const int code = std::system(line.c_str());
  ProcessResult result{
      .status = WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code),
      .out = read_file(base + ".out"),
      .err = read_file(base + ".err")};
  std::filesystem::remove(base + ".out");
  std::filesystem::remove(base + ".err");
  return result;
}

ProcessResult run_titan(
    const std::vector<std::string>& arguments, const std::string& folder) {
  std::string command = folder.empty() ? "" : "cd " + shell_quote(folder) + " && ";
  command += TITAN_BINARY;
  for (const std::string& argument : arguments) {
    command += " " + shell_quote(argument);
  }
  return run_shell(command);
}

pid_t start_titan(const std::vector<std::string>& arguments) {
  std::vector<const char*> words = {TITAN_BINARY};
  for (const std::string& argument : arguments) {
    words.push_back(argument.c_str());
  }
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::execv(TITAN_BINARY, const_cast<char* const*>(words.data()));
    ::_exit(127);
  }
  return child;
}

}  // namespace titan::test

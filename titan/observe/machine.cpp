#include "titan/observe/machine.h"

#include <fstream>
#include <optional>
#include <sched.h>
#include <string_view>
#include <thread>

#include "titan/base/error.h"
#include "titan/observe/format.h"

namespace titan::observe {
namespace {

// The text after `key`, blanks and a colon in the first such line of a /proc file.
std::optional<std::string> proc_value(const char* file, std::string_view key) {
  std::ifstream stream(file);
  std::string line;
  while (std::getline(stream, line)) {
    if (line.starts_with(key)) {
      const size_t start = line.find_first_not_of(" \t:", key.size());
      return start == std::string::npos ? "" : line.substr(start);
    }
  }
  return std::nullopt;
}

int64_t proc_bytes(const char* file, std::string_view key) {
  const std::optional<std::string> value = proc_value(file, key);
  if (!value || !value->ends_with(" kB")) {
    fail<EnvironmentError>("{}: {}: expected a size in kB", file, key);
  }
  return std::stoll(*value) * 1024;
}

}  // namespace

MemoryUse memory_use() {
  constexpr const char* kStatus = "/proc/self/status";
  return {proc_bytes(kStatus, "VmRSS"), proc_bytes(kStatus, "VmHWM")};
}

Machine describe_machine() {
  Machine machine;
  machine.cpu = proc_value("/proc/cpuinfo", "model name").value_or("unknown CPU");
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // Fails where the machine has more cores than the fixed-size set.
  machine.cores = ::sched_getaffinity(0, sizeof cores, &cores) == 0
                      ? CPU_COUNT(&cores)
                      : static_cast<int>(std::thread::hardware_concurrency());
  machine.memory_bytes = proc_bytes("/proc/meminfo", "MemTotal");
  return machine;
}

std::string machine_text(const Machine& machine) {
  return fmt::format(
      "{}, {} core{}, {}",
      machine.cpu,
      machine.cores,
      machine.cores == 1 ? "" : "s",
      format_bytes(machine.memory_bytes));
}

}  // namespace titan::observe

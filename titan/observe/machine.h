#pragma once
// What this process uses and what this machine has.

#include <cstdint>
#include <string>

namespace titan::observe {

// Resident set of this process in bytes: now, and the most since it started.
struct MemoryUse {
  int64_t rss_bytes = 0;
  int64_t peak_rss_bytes = 0;
};

// From /proc/self/status. Throws EnvironmentError where the system has no such file.
[[nodiscard]] MemoryUse memory_use();

struct Machine {
  std::string cpu;  // "AMD EPYC 9654"; "unknown CPU" where the system does not say
  int cores = 0;    // that this process may run on
  int64_t memory_bytes = 0;  // of the machine
};

[[nodiscard]] Machine describe_machine();

// "AMD EPYC 9654, 2 cores, 33.5 GB".
[[nodiscard]] std::string machine_text(const Machine& machine);

}  // namespace titan::observe

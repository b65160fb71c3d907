#pragma once
// Times pairs of the same work done by titan and by the library, in turn, and shows them.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace titan::cli {

// One operator at one shape.
struct OpCase {
  std::string op;     // "attention forward"
  std::string shape;  // "4 x 512, 9 heads (3 kv), D 64, bf16"
  std::function<void()> ours;
  std::function<void()> library;
  double flops = 0;  // of one run; 0: not counted
  double bytes = 0;  // that one run must move; 0: not counted
};

struct OpTime {
  OpCase work;
  double seconds = 0;  // medians
  double library_seconds = 0;

  [[nodiscard]] double ratio() const { return library_seconds / seconds; }
};

// What the shares of peak are measured against.
struct Peaks {
  double flops_fp32 = 0;  // of this machine's best matrix product, per second
  double flops_bf16 = 0;
  double bytes = 0;  // read and written by a copy, per second
};

// Runs both sides in turn until their medians are steady; at most about a second a case.
[[nodiscard]] OpTime time_case(OpCase work);

// Bytes per second of a copy between buffers that do not fit the caches.
[[nodiscard]] double measure_copy_bandwidth();

[[nodiscard]] std::string terminal_row(const OpTime& time, const Peaks& peaks);
// A Markdown table under a line that names the machine.
[[nodiscard]] std::string markdown_table(
    const std::string& machine, const std::vector<OpTime>& times, const Peaks& peaks);
// A bar chart of the ratios.
[[nodiscard]] std::string ratio_chart(
    const std::string& machine, const std::vector<OpTime>& times);

}  // namespace titan::cli

#include "cli/bench_ops/op_table.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace titan::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kShortest = 2e-3;  // s; shorter work is repeated within one measurement
constexpr double kTotal = 0.8;      // s of both sides together
constexpr size_t kFewest = 5;
constexpr size_t kMost = 101;

double seconds_of(const std::function<void()>& work, int64_t repeats) {
  const auto start = Clock::now();
  for (int64_t i = 0; i < repeats; ++i) {
    work();
  }
  const std::chrono::duration<double> spent = Clock::now() - start;
  return spent.count() / static_cast<double>(repeats);
}

// Repeats that make one measurement long enough; warms up.
int64_t repeats_for(const std::function<void()>& work) {
  seconds_of(work, 1);
  const double once = std::max(1e-9, seconds_of(work, 1));
  return std::max<int64_t>(1, std::llround(std::ceil(kShortest / once)));
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size()) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool is_bf16(const OpCase& work) {
  return work.shape.find("bf16") != std::string::npos;
}

// "512 GFLOP/s, 41 %" or "12.3 GB/s, 80 %".
std::string rate_text(const OpTime& time, const Peaks& peaks) {
  const OpCase& work = time.work;
  if (work.flops > 0) {
    const double rate = work.flops / time.seconds;
    const double peak = is_bf16(work) ? peaks.flops_bf16 : peaks.flops_fp32;
    return fmt::format("{:.0f} GFLOP/s, {:.0f} %", rate / 1e9, 100 * rate / peak);
  }
  const double rate = work.bytes / time.seconds;
  return fmt::format("{:.1f} GB/s, {:.0f} %", rate / 1e9, 100 * rate / peaks.bytes);
}

}  // namespace

OpTime time_case(OpCase work) {
  const int64_t repeats = repeats_for(work.ours);
  const int64_t library_repeats = repeats_for(work.library);
  std::vector<double> ours;
  std::vector<double> library;
  const auto start = Clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  while (ours.size() < kFewest || (spent() < kTotal && ours.size() < kMost)) {
    ours.push_back(seconds_of(work.ours, repeats));
    library.push_back(seconds_of(work.library, library_repeats));
  }
  return {std::move(work), median(std::move(ours)), median(std::move(library))};
}

double measure_copy_bandwidth() {
  constexpr int64_t kElements = 64 << 20;
  constexpr int kTries = 5;
  const at::Tensor from = at::ones({kElements}, at::kFloat);
  const at::Tensor to = at::empty_like(from);
  to.copy_(from);
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const double seconds = seconds_of([&] { to.copy_(from); }, 1);
    best = std::max(best, 2.0 * static_cast<double>(from.nbytes()) / seconds);
  }
  return best;
}

std::string terminal_row(const OpTime& time, const Peaks& peaks) {
  return fmt::format(
      "{:<24} {:<40} {:>10.3f} {:>10.3f} {:>7.2f}  {}",
      time.work.op,
      time.work.shape,
      time.seconds * 1e3,
      time.library_seconds * 1e3,
      time.ratio(),
      rate_text(time, peaks));
}

std::string markdown_table(
    const std::string& machine, const std::vector<OpTime>& times, const Peaks& peaks) {
  std::string text = fmt::format(
      "{}; peaks: {:.0f} GFLOP/s fp32, {:.0f} bf16, copy {:.1f} GB/s\n\n"
      "| op | shape | ms | library ms | ratio | rate, share of peak |\n"
      "|---|---|---|---|---|---|\n",
      machine,
      peaks.flops_fp32 / 1e9,
      peaks.flops_bf16 / 1e9,
      peaks.bytes / 1e9);
  for (const OpTime& time : times) {
    text += fmt::format(
        "| {} | {} | {:.3f} | {:.3f} | {:.2f} | {} |\n",
        time.work.op,
        time.work.shape,
        time.seconds * 1e3,
        time.library_seconds * 1e3,
        time.ratio(),
        rate_text(time, peaks));
  }
  return text;
}

std::string ratio_chart(const std::string& machine, const std::vector<OpTime>& times) {
  constexpr int kRow = 20;
  constexpr int kLabel = 430;
  constexpr int kUnit = 60;  // pixels of a ratio of one
  constexpr double kCut = 8;
  const int height = kRow * (static_cast<int>(times.size()) + 3);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<text x=\"4\" y=\"16\">Speed against the library, {}</text>\n",
      kLabel + static_cast<int>(kCut + 1) * kUnit,
      height,
      machine);
  int y = 2 * kRow;
  for (const OpTime& time : times) {
    const double shown = std::min(time.ratio(), kCut);
    svg += fmt::format(
        "<text x=\"4\" y=\"{0}\">{1}, {2}</text>"
        "<rect x=\"{3}\" y=\"{4}\" width=\"{5:.0f}\" height=\"14\" fill=\"{6}\"/>"
        "<text x=\"{7:.0f}\" y=\"{0}\">{8:.2f}</text>\n",
        y,
        time.work.op,
        time.work.shape,
        kLabel,
        y - 11,
        shown * kUnit,
        time.ratio() >= 1 ? "#3572a5" : "#b5523b",
        kLabel + shown * kUnit + 4,
        time.ratio());
    y += kRow;
  }
  svg += fmt::format(
      "<line x1=\"{0}\" y1=\"24\" x2=\"{0}\" y2=\"{1}\" stroke=\"black\" "
      "stroke-dasharray=\"3\"/>\n</svg>\n",
      kLabel + kUnit,
      y);
  return svg;
}

}  // namespace titan::cli

#include "titan/observe/progress.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "titan/observe/format.h"

namespace titan::observe {

std::string progress_line(const Progress& progress) {
  constexpr size_t kColumns = 110;
  std::string line = fmt::format(
      "step {}/{}  loss {:#.5g}  grad {:#.3g}  lr {:.2e}  {} tok/s",
      progress.step,
      progress.steps,
      progress.loss,
      progress.grad_norm,
      progress.lr,
      format_count(progress.tokens_per_second));
  if (!std::isnan(progress.mfu)) {
    line += fmt::format("  MFU {:.1f}%", 100 * progress.mfu);
  }
  line += fmt::format(
      "  {}  ETA {}",
      format_bytes(progress.memory_bytes),
      format_duration(progress.seconds_left));
  line.resize(std::min(line.size(), kColumns));
  return line;
}

}  // namespace titan::observe

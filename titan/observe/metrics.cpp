#include "titan/observe/metrics.h"

#include <cmath>
#include <string_view>
#include <system_error>

#include "titan/base/error.h"
#include "titan/base/json.h"

namespace titan::observe {
namespace {

std::string value_text(const std::variant<int64_t, double>& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    return std::to_string(*integer);
  }
  const double number = std::get<double>(value);
  const std::string text = exact_number(number);
  return std::isfinite(number) ? text : '"' + text + '"';
}

// Bytes of `text` up to the end of the last line whose step is at most `last_step`.
size_t kept_size(std::string_view text, int64_t last_step, const fs::path& path) {
  size_t start = 0;
  int64_t number = 1;
  while (true) {
    const size_t end = text.find('\n', start);
    if (end == std::string_view::npos) {
      return start;  // nothing more, or a torn line
    }
    const std::string what = fmt::format("{}:{}", path.string(), number);
    const Json line = parse_json(text.substr(start, end - start), what);
    if (json_get<int64_t>(line, "step", what) > last_step) {
      return start;
    }
    start = end + 1;
    ++number;
  }
}

// Shortens the file, if there is one. Returns its path, for the initialiser of file_.
const fs::path& truncate_after(const fs::path& path, int64_t last_step) {
  if (fs::exists(path)) {
    std::error_code error;
    fs::resize_file(path, kept_size(read_file(path), last_step, path), error);
    if (error) {
      fail<EnvironmentError>("{}: cannot write: {}", path.string(), error.message());
    }
  }
  return path;
}

}  // namespace

std::string metrics_json(const StepMetrics& metrics) {
  std::string text = fmt::format("{{\"step\":{}", metrics.step);
  for (const auto& [name, value] : metrics.values) {
    text += fmt::format(",{}:{}", Json(name).dump(), value_text(value));
  }
  return text + "}";
}

MetricsLog::MetricsLog(const fs::path& path, int64_t last_step)
    : file_(truncate_after(path, last_step), OutputFile::Mode::kAppend) {}

void MetricsLog::write(const StepMetrics& metrics) {
  file_.write(metrics_json(metrics) + "\n");
}

}  // namespace titan::observe

// A window for checks against jinja2: renders one template with many sets of variables.
//
// Usage: render_template JOB.json RESULT.json [REPEATS]
// JOB: {"name", "template", "time": seconds since 1970, "cases": [{variable: value}]}.
// RESULT: {"refused": message} where the template does not compile, else {"results":
// [{"text"} or {"error": message}], "seconds": of the fastest of REPEATS rounds}.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/text/jinja/template.h"

namespace titan::text::jinja {
namespace {

std::string render(const Template& source, const Json& variables, std::time_t time) {
  Arena arena;
  std::vector<Variable> values;
  for (const auto& [name, value] : variables.items()) {
    if (source.reads(name)) {
      values.push_back({name, to_value(value, {}, arena, name)});
    }
  }
  return source.render(values, time).text;
}

// A text, or the error.
struct Result {
  std::string text;
  bool is_error = false;
};

std::vector<Result> render_cases(
    const Template& source, const Json& cases, std::time_t time) {
  std::vector<Result> results;
  results.reserve(cases.size());
  for (const Json& variables : cases) {
    try {
      results.push_back({render(source, variables, time), false});
    } catch (const InputError& error) {
      results.push_back({error.what(), true});
    }
  }
  return results;
}

Json run(const Json& job, int repeats) {
  std::optional<Template> source;
  try {
    source.emplace(
        job.at("template").get_ref<const std::string&>(),
        job.at("name").get<std::string>());
  } catch (const FormatError& error) {
    return {{"refused", error.what()}};
  }
  const auto time = job.value("time", std::time_t{0});
  std::vector<Result> results;
  double best = 0;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    results = render_cases(*source, job.at("cases"), time);
    const std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    best = i == 0 ? seconds.count() : std::min(best, seconds.count());
  }
  Json report = {{"results", Json::array()}, {"seconds", best}};
  for (const Result& result : results) {
    report["results"].push_back({{result.is_error ? "error" : "text", result.text}});
  }
  return report;
}

}  // namespace
}  // namespace titan::text::jinja

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    return 2;
  }
  const titan::Json job = titan::read_json_file(argv[1]);
  titan::write_file_atomic(
      argv[2], titan::text::jinja::run(job, argc == 4 ? std::atoi(argv[3]) : 1).dump());
  return 0;
}

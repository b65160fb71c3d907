#include <cstdlib>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <c10/util/Exception.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "titan/base/error.h"
#include "titan/base/log.h"
#include "titan/config/plugin.h"
#include "titan/config/registration.h"

// Read by jemalloc at start. Its arena for large blocks would give every activation of 8
// MB and more back to the system at once; pages that it has marked as free stay mapped,
// so a step that takes them again does not fault.
const char* malloc_conf = "oversize_threshold:0,muzzy_decay_ms:-1";

namespace titan::cli {
namespace {

// Plug-ins register recipes and overrides, so they load before any subcommand runs.
void load_plugins(const std::vector<std::string>& paths) {
  const std::vector<std::string> problems = config::take_registration_problems();
  if (!problems.empty()) {
    throw ConfigError(fmt::format("{}", fmt::join(problems, "\n")));
  }
  for (const std::string& path : paths) {
    config::load_plugin(path);
  }
}

int run(int argc, char** argv) {
  CLI::App app("titan pre-trains and post-trains large language models.");
  app.require_subcommand(1);
  app.fallthrough();  // --plugin may also follow the subcommand
  std::vector<std::string> plugins;
  app.add_option("--plugin", plugins, "shared library that registers more components")
      ->allow_extra_args(false);
  app.parse_complete_callback([&] { load_plugins(plugins); });
  for (const auto add :
       {add_train,
        add_generate,
        add_score,
        add_tokenize,
        add_import,
        add_export,
        add_config,
        add_data,
        add_listings,
        add_bench}) {
    add(app);
  }
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    // Help is no failure; anything else that the parser refuses is the user's input.
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const c10::Error& error) {
    log::error("{}", error.what_without_backtrace());
    return 1;
  } catch (const std::exception& error) {
    log::error("{}", error.what());
    return exit_status(error);
  }
}

}  // namespace
}  // namespace titan::cli

int main(int argc, char** argv) {
  return titan::cli::run(argc, argv);
}

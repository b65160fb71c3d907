#pragma once

// The subcommands of the titan binary, one file each. Every add_* function adds its
// subcommand to `app`; the subcommand's callback does the work and throws on failure.

namespace CLI {
class App;
}

namespace titan::cli {

void add_bench(CLI::App& app);
void add_bench_data(CLI::App& bench);  // a subcommand of bench
void add_config(CLI::App& app);
void add_data(CLI::App& app);
void add_export(CLI::App& app);
void add_generate(CLI::App& app);
void add_import(CLI::App& app);
void add_listings(CLI::App& app);  // recipes, overrides, models
void add_score(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_train(CLI::App& app);

}  // namespace titan::cli

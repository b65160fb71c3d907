#include "titan/data/tokenize.h"

#include <limits>
#include <optional>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/data/example_stream.h"
#include "titan/data/mixture_of_files.h"
#include "titan/data/processor.h"
#include "titan/data/source_files.h"
#include "titan/data/token_shard.h"

namespace titan::data {

TokenizeResult write_token_files(
    const DataConfig& config,
    const text::Tokenizer& tokenizer,
    const fs::path& folder,
    int64_t tokens_per_file) {
  if (fs::exists(folder)) {
    fail<InputError>("{}: is there already", folder.string());
  }
  DataConfig in_order = config;
  in_order.shuffle = false;
  in_order.epochs = 1;
  for (SourceConfig& source : in_order.sources) {
    source.weight = 0;
  }
  const auto threads = static_cast<size_t>(config.threads);
  const std::string mark = tokenizer_mark(tokenizer);
  const Processor processor(in_order, tokenizer);
  const std::vector<SourceFile> files =
      open_sources(in_order.sources, {config.bad_records, threads, mark});
  Mixture mixture = mix_files(in_order, files);
  ExampleStream examples(mixture, processor, {threads, config.bad_records});
  Intake intake(
      [&] { return examples.next(); },
      {std::numeric_limits<int64_t>::max(), OverLong::kSplit, mixture.sizes()},
      std::vector<int64_t>(mixture.parts().size(), 0),
      {});

  fs::path partial = folder;
  partial += ".partial";
  fs::remove_all(partial);
  make_folders(partial);
  TokenizeResult result;
  TokenShardWriter writer(mark);
  const auto write = [&] {
    result.tokens += writer.num_tokens();
    writer.write(partial / fmt::format("tokens-{:05}.safetensors", result.files++));
  };
  while (const std::optional<Example> example = intake.next()) {
    writer.add(*example);
    if (writer.num_tokens() >= tokens_per_file) {
      write();
    }
  }
  if (writer.num_tokens() > 0) {
    write();
  }
  result.counts = intake.counts();
  if (result.files == 0) {
    fail_nothing_to_learn(result.counts);
  }
  sync_folder(partial);
  fs::rename(partial, folder);
  sync_folder(folder.has_parent_path() ? folder.parent_path() : fs::path("."));
  return result;
}

}  // namespace titan::data

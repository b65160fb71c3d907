// Preparing data and training on them, with the binary as its users run it.

#include <fstream>
#include <signal.h>
#include <sys/wait.h>
#include <thread>

#include "tests/cli/process.h"
#include <gtest/gtest.h>

#include "titan/base/files.h"
#include "titan/base/json.h"

namespace titan::test {
namespace {

fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / "titan_data_cli_test" / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

// A run of a few seconds with documents packed whole.
std::vector<std::string> packed_train(
    const fs::path& run, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {
      "train",
      "llama3_debug",
      "run.folder=" + run.string(),
      "train.steps=8",
      "train.tokens_per_microbatch=512",
      "train.context=256",
      "model.architecture.layers=1",
      "data.packing=best_fit",
      "data.packing_window=20",
      "checkpoint.every=1",
      "validation.sources=[]"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// "step:loss:documents" of every line.
std::vector<std::string> metrics_of(const fs::path& run) {
  std::ifstream file(run / "metrics.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    const Json metrics = parse_json(line, "metrics");
    lines.push_back(
        metrics.at("step").dump() + ":" + metrics.at("loss").dump() + ":" +
        metrics.at("documents").dump());
  }
  return lines;
}

TEST(DataCli, TokensMadeOnceTrainAsTheTextDoes) {
  const fs::path folder = fresh_folder("tokens");
  const std::string tokens = (folder / "tokens").string();
  const std::vector<std::string> tokenize = {
      "data", "tokenize", "llama3_debug", "--out", tokens, "--tokens-per-file", "100000"};
  const ProcessResult made = run_titan(tokenize);
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.out.find("tokens of 253 documents in 4 files"), std::string::npos)
      << made.out;
  const ProcessResult again = run_titan(tokenize);
  EXPECT_EQ(again.status, 2);
  EXPECT_NE(again.err.find("is there already"), std::string::npos) << again.err;

  ASSERT_EQ(run_titan(packed_train(folder / "text")).status, 0);
  const std::string sources = "data.sources=[{\"path\": \"" + tokens + "\"}]";
  ASSERT_EQ(run_titan(packed_train(folder / "from_tokens", {sources})).status, 0);
  EXPECT_EQ(metrics_of(folder / "text").size(), 8);
  EXPECT_EQ(metrics_of(folder / "text"), metrics_of(folder / "from_tokens"));
}

TEST(DataCli, AKilledRunUsesEveryDocumentOnce) {
  const fs::path folder = fresh_folder("killed");
  ASSERT_EQ(run_titan(packed_train(folder / "whole")).status, 0);
  const pid_t process = start_titan(packed_train(folder / "killed"));
  while (metrics_of(folder / "killed").size() < 3) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_EQ(waitpid(process, nullptr, WNOHANG), 0) << "it ended too early";
  }
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  // The threads may change: they have no part in the order.
  ASSERT_EQ(
      run_titan(packed_train(folder / "killed", {"data.threads=1", "data.prefetch=0"}))
          .status,
      0);
  EXPECT_EQ(metrics_of(folder / "whole"), metrics_of(folder / "killed"));
}

}  // namespace
}  // namespace titan::test

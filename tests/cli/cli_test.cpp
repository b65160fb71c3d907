// The binary as its users run it: exit statuses, one clear line for every mistake, and
// runs that survive being killed.

#include <algorithm>
#include <chrono>
#include <fstream>
#include <signal.h>
#include <sys/wait.h>
#include <thread>

#include "tests/cli/process.h"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/checkpoint/safetensors.h"

namespace titan::test {
namespace {

const std::string kFixture = TITAN_SOURCE_DIR "/titan/models/llama3/testdata";

fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / "titan_cli_test" / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

// A training run of a few seconds; more settings may follow.
std::vector<std::string> tiny_train(const fs::path& folder, int steps) {
  return {
      "train",
      "llama3_debug",
      "run.folder=" + (folder / "run").string(),
      "train.steps=" + std::to_string(steps),
      "train.tokens_per_microbatch=256",
      "train.context=128",
      "model.architecture.layers=2",
      "validation.sources=[]"};
}

std::vector<std::string> operator+(
    std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

// "step:loss" of every line: what must be equal between runs, without the timings.
std::vector<std::string> losses_of(const fs::path& run) {
  std::vector<std::string> losses;
  for (const std::string& line : lines_of(run / "metrics.jsonl")) {
    const Json metrics = parse_json(line, "metrics");
    losses.push_back(metrics.at("step").dump() + ":" + metrics.at("loss").dump());
  }
  return losses;
}

TEST(Cli, ListsWhatIsRegistered) {
  const ProcessResult recipes = run_titan({"recipes"});
  EXPECT_EQ(recipes.status, 0);
  for (const char* name :
       {"llama3_debug", "qwen3_debug", "smollm2_finetune", "llama3_8b"}) {
    EXPECT_NE(recipes.out.find(name), std::string::npos) << name;
  }
  const ProcessResult models = run_titan({"models"});
  EXPECT_NE(models.out.find("8030261248 parameters"), std::string::npos) << models.out;
}

TEST(Cli, UnknownNamesOfferTheNearest) {
  const ProcessResult recipe = run_titan({"train", "lama3_debug"});
  EXPECT_EQ(recipe.status, 2);
  EXPECT_EQ(
      recipe.err,
      "titan: error: no recipe called \"lama3_debug\"; did you mean \"llama3_debug\"?\n");
  const ProcessResult path =
      run_titan({"config", "llama3_debug", "train.step=5", "optimizer.lr=fast"});
  EXPECT_EQ(path.status, 2);
  EXPECT_NE(path.err.find("train.steps"), std::string::npos) << path.err;
  EXPECT_NE(path.err.find("optimizer.lr"), std::string::npos) << path.err;
  EXPECT_EQ(run_titan({"trian"}).status, 2);
  EXPECT_EQ(run_titan({"--help"}).status, 0);
}

TEST(Cli, ConfigPrintsDiffsAndReadsFiles) {
  const fs::path folder = fresh_folder("config");
  std::ofstream(folder / "run.toml") << "[train]\nsteps = 12\n[optimizer]\nlr = 1e-3\n";
  const ProcessResult diff = run_titan(
      {"config",
       "llama3_debug",
       "--config",
       (folder / "run.toml").string(),
       "optimizer.lr=2e-3",
       "--diff",
       "llama3_debug"});
  EXPECT_EQ(diff.status, 0) << diff.err;
  EXPECT_NE(diff.out.find("train.steps: 100 -> 12"), std::string::npos) << diff.out;
  EXPECT_NE(diff.out.find("optimizer.lr: 0.0008 -> 0.002"), std::string::npos)
      << diff.out;
}

TEST(Cli, ScoreEqualsTheReferenceAndPackingChangesNoBit) {
  const fs::path folder = fresh_folder("score");
  const checkpoint::SafetensorsFile reference(kFixture + "/reference.safetensors");
  Json documents = Json::array();
  for (const char* name : {"input_ids_a", "input_ids_b"}) {
    const at::Tensor ids = reference.tensor(name).to(at::kLong).contiguous();
    const auto* data = ids.const_data_ptr<int64_t>();
    documents.push_back(std::vector<int64_t>(data, data + ids.numel()));
  }
  std::ofstream(folder / "tokens.json") << Json{{"documents", documents}}.dump();
  const std::vector<std::string> score = {
      "score",
      kFixture,
      "--tokens",
      (folder / "tokens.json").string(),
      "--gradients",
      "--out"};
  ASSERT_EQ(
      run_titan(score + std::vector<std::string>{(folder / "alone.st").string()}).status,
      0);
  ASSERT_EQ(
      run_titan(
          score + std::vector<std::string>{(folder / "packed.st").string(), "--packed"})
          .status,
      0);
  const checkpoint::SafetensorsFile alone(folder / "alone.st");
  const checkpoint::SafetensorsFile packed(folder / "packed.st");
  EXPECT_TRUE(
      at::allclose(alone.tensor("logits.0"), reference.tensor("logits_a"), 0, 5e-5));
  EXPECT_NEAR(
      alone.tensor("loss").item<double>(), reference.tensor("loss").item<double>(), 1e-5);
  const std::string gradient = "grad.model.layers.1.mlp.down_proj.weight";
  EXPECT_TRUE(
      at::allclose(alone.tensor(gradient), reference.tensor(gradient), 1e-3, 1e-6));
  for (const char* name : {"logits.0", "logits.1", "logprobs.0", "logprobs.1"}) {
    EXPECT_TRUE(at::equal(alone.tensor(name), packed.tensor(name))) << name;
  }
  EXPECT_EQ(alone.tensor("logprobs.1").size(0), alone.tensor("logits.1").size(0) - 1);
}

TEST(Cli, TokenizePrintsIdsAndPieces) {
  const ProcessResult result = run_titan(
      {"tokenize", TITAN_SOURCE_DIR "/data/tokenizers/debug", "the sea \xc3\xa9"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("\"the\""), std::string::npos) << result.out;
}

TEST(Cli, KilledRunsContinueAsIfNothingHadHappened) {
  const fs::path whole = fresh_folder("whole");
  ASSERT_EQ(
      run_titan(tiny_train(whole, 40) + std::vector<std::string>{"checkpoint.every=1"})
          .status,
      0);
  const fs::path killed = fresh_folder("killed");
  const auto arguments =
      tiny_train(killed, 40) + std::vector<std::string>{"checkpoint.every=1"};
  size_t reached = 0;
  for (int kill = 0; kill < 3; ++kill) {
    const pid_t child = start_titan(arguments);
    const size_t wanted = std::min<size_t>(reached + 5, 35);
    while (lines_of(killed / "run" / "metrics.jsonl").size() < wanted) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    reached = lines_of(killed / "run" / "metrics.jsonl").size();
  }
  const ProcessResult last = run_titan(arguments);
  ASSERT_EQ(last.status, 0) << last.err;
  EXPECT_NE(last.err.find("continuing"), std::string::npos) << last.err;
  EXPECT_EQ(losses_of(whole / "run"), losses_of(killed / "run"));
}

TEST(Cli, StoppedRunsPrintHowToContinue) {
  const fs::path folder = fresh_folder("stopped");
  const ProcessResult result =
      run_titan(tiny_train(folder, 4) + std::vector<std::string>{"run.stop_after=2"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(
      result.err.find("stopped after step 2; continue with: titan train llama3_debug"),
      std::string::npos)
      << result.err;
}

TEST(Cli, RunsExportToFoldersThatScoreTheSame) {
  const fs::path folder = fresh_folder("export");
  ASSERT_EQ(run_titan(tiny_train(folder, 2)).status, 0);
  const std::string out = (folder / "hf").string();
  const ProcessResult exported =
      run_titan({"export", (folder / "run").string(), out, "--dtype", "fp32"});
  ASSERT_EQ(exported.status, 0) << exported.err;
  std::ofstream(folder / "tokens.json") << R"({"documents": [[1, 2, 3, 4, 5]]})";
  for (const auto& [model, result] :
       {std::pair{(folder / "run").string(), "a.st"}, std::pair{out, "b.st"}}) {
    ASSERT_EQ(
        run_titan({"score",
                   model,
                   "--tokens",
                   (folder / "tokens.json").string(),
                   "--out",
                   (folder / result).string()})
            .status,
        0);
  }
  EXPECT_TRUE(at::equal(
      checkpoint::SafetensorsFile(folder / "a.st").tensor("logits.0"),
      checkpoint::SafetensorsFile(folder / "b.st").tensor("logits.0")));
  const ProcessResult text =
      run_titan({"generate", out, "--prompt", "The", "--max-tokens", "4"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("The")) << text.out;
}

TEST(Cli, PluginsAddOverrides) {
  const std::vector<std::string> plugin = {"--plugin", TITAN_EXAMPLE_PLUGIN};
  const ProcessResult listed = run_titan(plugin + std::vector<std::string>{"overrides"});
  EXPECT_NE(listed.out.find("reglu2"), std::string::npos) << listed.out << listed.err;
  const fs::path folder = fresh_folder("plugin");
  const std::vector<std::string> replaced = {"overrides=[\"layers.1.ffn=reglu2\"]"};
  const ProcessResult with = run_titan(plugin + tiny_train(folder, 2) + replaced);
  ASSERT_EQ(with.status, 0) << with.err;
  const fs::path other = fresh_folder("plugin_unused");
  ASSERT_EQ(run_titan(tiny_train(other, 2)).status, 0);
  EXPECT_NE(losses_of(folder / "run"), losses_of(other / "run"));
  const ProcessResult missing =
      run_titan(tiny_train(fresh_folder("plugin_missing"), 2) + replaced);
  EXPECT_EQ(missing.status, 2);
  EXPECT_NE(missing.err.find("no override called \"reglu2\""), std::string::npos)
      << missing.err;
  EXPECT_EQ(run_titan({"--plugin", kFixture + "/config.json", "overrides"}).status, 2);
}

TEST(Cli, WrongInputIsOneLineAndExitStatusTwo) {
  const fs::path folder = fresh_folder("wrong");
  std::ofstream(folder / "empty.jsonl").close();
  std::ofstream(folder / "bad.jsonl") << "{\"text\": \"a\"}\n{\"text\": 5}\n";
  const auto train_on = [&](const std::string& file) {
    return run_titan(
        tiny_train(folder, 2) +
        std::vector<std::string>{
            "data.sources=[{\"path\": \"" + (folder / file).string() + "\"}]"});
  };
  for (const char* file : {"missing.jsonl", "empty.jsonl", "bad.jsonl"}) {
    const ProcessResult result = train_on(file);
    EXPECT_EQ(result.status, 2) << file;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find(file), std::string::npos) << result.err;
  }
  EXPECT_FALSE(fs::exists(folder / "run")) << "nothing is left behind";
  const ProcessResult vocabulary = run_titan(
      tiny_train(folder, 2) + std::vector<std::string>{"model.architecture.vocab=100"});
  EXPECT_EQ(vocabulary.status, 2);
  EXPECT_NE(vocabulary.err.find("100"), std::string::npos) << vocabulary.err;
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"generate", (folder / "nothing").string(), "--prompt", "x"},
           {"import", (folder / "nothing.gguf").string(), (folder / "out").string()},
           {"import", (folder / "empty.jsonl").string(), (folder / "out").string()},
           {"score", kFixture, "--tokens", (folder / "bad.jsonl").string(), "--out", "x"},
           {"export", (folder / "nothing").string(), (folder / "out").string()}}) {
    const ProcessResult result = run_titan(arguments);
    EXPECT_EQ(result.status, 2) << arguments[0] << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_FALSE(fs::exists(folder / "out"));
}

TEST(Cli, AFullDiskKeepsTheLastCheckpoint) {
  const fs::path folder = fresh_folder("full");
  ASSERT_EQ(run_titan(tiny_train(folder, 2)).status, 0);
  std::string command = "ulimit -f 2000; exec " TITAN_BINARY;
  for (const std::string& argument : tiny_train(folder, 4)) {
    command += " " + shell_quote(argument);
  }
  const ProcessResult full =
      run_shell("bash -c " + shell_quote("trap '' XFSZ; " + command));
  EXPECT_EQ(full.status, 1) << full.err;
  EXPECT_NE(full.err.find("File too large"), std::string::npos) << full.err;
  EXPECT_TRUE(fs::exists(folder / "run" / "checkpoint" / "step-00000002" / "index.json"));
  EXPECT_FALSE(fs::exists(folder / "run" / "checkpoint" / "step-00000004"));
  EXPECT_EQ(run_titan(tiny_train(folder, 4)).status, 0)
      << "and the run goes on from there";
}

}  // namespace
}  // namespace titan::test

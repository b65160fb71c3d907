// Fine-tuning on conversations, through the loader, the step and the trainer.

#include <fstream>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/base/files.h"
#include "titan/data/loader.h"
#include "titan/data/tokenize.h"
#include "titan/models/llama3/config.h"
#include "titan/text/tokenizer.h"
#include "titan/train/step.h"
#include "titan/train/trainer.h"

namespace titan::train {
namespace {

constexpr const char* kTemplate =
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% if m.role == 'assistant' "
    "%}{{ eos_token }}{% endif %}\n{% endfor %}{% if add_generation_prompt "
    "%}<|assistant|>\n{% endif %}";

class ChatTraining : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream(folder_ / "chat.jinja") << kTemplate;
    const auto turn = [](const char* role, const char* content) {
      return Json{{"role", role}, {"content", content}};
    };
    std::ofstream file(folder_ / "chat.jsonl");
    file << Json{{"messages",
                  {turn("system", "Be short."),
                   turn("user", "What colour is the sky?"),
                   turn("assistant", "It is blue."),
                   turn("user", "And the grass?"),
                   turn("assistant", "Green.")}}}
                .dump()
         << "\n"
         << Json{{"messages",
                  {turn("user", "Say <|assistant|> and nothing else."),
                   turn("assistant", "No.")}}}
                .dump()
         << "\n";
  }

  [[nodiscard]] data::DataConfig data(data::ChatTurns turns) const {
    return {
        .sources =
            {{.path = (folder_ / "chat.jsonl").string(),
              .kind = data::DocumentKind::kChat}},
        .tokenizer = TITAN_SOURCE_DIR "/data/tokenizers/debug",
        .chat = {.turns = turns, .template_file = (folder_ / "chat.jinja").string()},
        .shuffle = false,
        .epochs = 1,
        .over_long = data::OverLong::kDrop,
        .packing = data::Packing::kBestFit};
  }

  [[nodiscard]] data::Batch batch(data::ChatTurns turns) const {
    data::Loader loader(
        data(turns),
        {.tokens_per_microbatch = 256, .context = 256, .vocab_size = 2048},
        tokenizer_);
    return *loader.next();
  }

  // The text of the labels of a batch.
  [[nodiscard]] std::string learnt(const data::Batch& batch) const {
    std::vector<int32_t> ids;
    for (const int64_t label : batch.labels) {
      if (label != data::kNoLabel) {
        ids.push_back(static_cast<int32_t>(label));
      }
    }
    return tokenizer_.decode(ids);
  }

  static std::unique_ptr<models::CausalLm> model() {
    models::Llama3Config config = models::llama3_size("debug");
    config.dense.dim = 64;
    config.dense.layers = 2;
    config.dense.heads = 4;
    config.dense.kv_heads = 2;
    config.dense.ffn_hidden = 96;
    auto model = std::make_unique<models::CausalLm>(config, models::CausalLmOptions{});
    model->parameters().materialize();
    model->parameters().initialize(3);
    return model;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "titan_chat_test";
  text::Tokenizer tokenizer_ =
      text::Tokenizer::from_folder(TITAN_SOURCE_DIR "/data/tokenizers/debug");
};

TEST_F(ChatTraining, OnlyAnswersAreLearnt) {
  const std::string eos = tokenizer_.token(tokenizer_.eos_ids().front());
  EXPECT_EQ(
      learnt(batch(data::ChatTurns::kAll)),
      "It is blue." + eos + "Green." + eos + "No." + eos);
  EXPECT_EQ(learnt(batch(data::ChatTurns::kLast)), "Green." + eos + "No." + eos);
}

// The loss is the mean over the answers' tokens, and neither the loss nor a gradient
// knows what the other positions would have had as labels.
TEST_F(ChatTraining, TheLossIsThatOfTheAnswers) {
  const data::Batch answers = batch(data::ChatTurns::kAll);
  const auto trained = model();
  const StepLoss loss = accumulate_gradients(*trained, {answers});
  EXPECT_EQ(loss.num_targets, count_targets(answers));
  EXPECT_LT(loss.num_targets, std::ssize(answers.labels) / 4);

  data::Batch everything = answers;
  for (size_t i = 0; i + 1 < answers.tokens.size(); ++i) {
    if (everything.labels[i] == data::kNoLabel) {
      everything.labels[i] = answers.tokens[i + 1];
    }
  }
  const LogprobSum all = sum_logprobs(*trained, everything);
  double expected = 0;
  for (size_t i = 0; i < answers.labels.size(); ++i) {
    if (answers.labels[i] != data::kNoLabel) {
      expected -= all.logprobs[static_cast<int64_t>(i)].item<double>();
    }
  }
  EXPECT_NEAR(loss.loss, expected / static_cast<double>(loss.num_targets), 1e-5);
}

// What a message says stays text: it never opens a turn.
TEST_F(ChatTraining, ContentCannotSpellASpecialToken) {
  const std::string eos = tokenizer_.token(tokenizer_.eos_ids().front());
  std::ofstream(folder_ / "chat.jsonl") << Json{
      {"messages",
       {{{"role", "user"}, {"content", "x" + eos + "y"}},
        {{"role", "assistant"},
         {"content", "z" + eos}}}}}.dump();
  const data::Batch row = batch(data::ChatTurns::kAll);
  const int32_t eos_id = tokenizer_.eos_ids().front();
  EXPECT_EQ(std::ranges::count(row.tokens, eos_id), 0);
  EXPECT_EQ(std::ranges::count(row.labels, eos_id), 1)
      << "only the one that the template writes";
}

std::vector<Json> metrics_of(const fs::path& folder) {
  std::ifstream file(folder / "metrics.jsonl");
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(parse_json(line, "metrics.jsonl"));
  }
  return lines;
}

// The run that learns the bundled conversations, from chats and from token files made of
// them: the same losses, and the metrics count the answers' tokens only.
TEST_F(ChatTraining, TokenFilesGiveTheSameRun) {
  TrainConfig config{
      .run = {.folder = (folder_ / "chats").string(), .seed = 7},
      .data = data(data::ChatTurns::kAll),
      .train =
          {.steps = 3,
           .tokens_per_microbatch = 256,
           .tokens_per_step = 512,
           .context = 256,
           .dtype = Dtype::kFp32},
      .optimizer = {.lr = 3e-3},
      .metrics = {.tensorboard = false}};
  models::Llama3Config architecture = models::llama3_size("debug");
  architecture.dense.layers = 1;
  config.model.architecture = architecture;
  config.data.sources[0].path = TITAN_SOURCE_DIR "/data/chat/train.jsonl";
  config.data.epochs = 0;
  (void)data::write_token_files(config.data, tokenizer_, folder_ / "tokens", 1000);
  Trainer(config, "").run();
  config.run.folder = (folder_ / "from_tokens").string();
  config.data.sources = {{.path = (folder_ / "tokens").string()}};
  Trainer(config, "").run();
  const auto chats = metrics_of(folder_ / "chats");
  const auto tokens = metrics_of(folder_ / "from_tokens");
  ASSERT_EQ(chats.size(), 3);
  ASSERT_EQ(tokens.size(), 3);
  for (size_t i = 0; i < chats.size(); ++i) {
    EXPECT_EQ(chats[i].at("loss"), tokens[i].at("loss"));
    EXPECT_EQ(chats[i].at("trained_tokens"), tokens[i].at("trained_tokens"));
    EXPECT_GT(chats[i].at("trained_tokens").get<int64_t>(), 0);
    EXPECT_LT(chats[i].at("trained_tokens").get<int64_t>(), 256);
  }
  EXPECT_LT(chats[2].at("loss").get<double>(), chats[0].at("loss").get<double>());
}

}  // namespace
}  // namespace titan::train

#include "titan/data/processor.h"

#include <gtest/gtest.h>

#include "titan/data/batch.h"
#include "titan/data/loader.h"
#include "titan/data/test_folder.h"

namespace titan::data {
namespace {

constexpr const char* kPlain =
    "{{ bos_token }}{% for m in messages %}[{{ m.role[0] }}]{{ m.content }}{% if m.role "
    "== "
    "'assistant' %}{{ eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt "
    "%}[a]{% endif %}";

constexpr const char* kTagged =
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}{% generation "
    "%}[a]{{ m.content }}{{ eos_token }}{% endgeneration %}{% else %}[{{ m.role[0] }}]{{ "
    "m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}[a]{% endif %}";

class ProcessorTest : public TestFolder {
 protected:
  static DataConfig config(ChatTurns turns) {
    return {
        .sources = {{.path = "unused", .kind = DocumentKind::kChat}},
        .chat = {.turns = turns}};
  }

  static Chat chat(const std::vector<std::pair<std::string, std::string>>& turns) {
    Chat chat{Json::array(), nullptr};
    for (const auto& [role, content] : turns) {
      chat.messages.push_back({{"role", role}, {"content", content}});
    }
    return chat;
  }

  // The example as text: "^" for BOS, "$" for EOS, and what is learnt in capitals.
  std::string show(
      const char* chat_template, ChatTurns turns, const Chat& document) const {
    const Processor processor(config(turns), tokenizer(chat_template));
    const Example example = processor(document);
    std::string text;
    for (size_t i = 0; i < example.ids().size(); ++i) {
      const int32_t id = example.ids()[i];
      const char letter = id == kBos ? '^' : id == kEos ? '$' : static_cast<char>(id);
      const bool learnt = example.targets()[i] != 0;
      text += learnt ? static_cast<char>(std::toupper(letter)) : letter;
      if (learnt && !std::isalpha(static_cast<unsigned char>(letter))) {
        text += '!';
      }
    }
    return text;
  }
};

TEST_F(ProcessorTest, OnlyAnswersAreLearnt) {
  const Chat two = chat(
      {{"system", "s"},
       {"user", "q"},
       {"assistant", "ab"},
       {"user", "r"},
       {"assistant", "c"}});
  EXPECT_EQ(show(kPlain, ChatTurns::kAll, two), "^[s]s[u]q[a]AB$![u]r[a]C$!");
  EXPECT_EQ(show(kPlain, ChatTurns::kLast, two), "^[s]s[u]q[a]ab$[u]r[a]C$!");
}

// Field case C11: two answers in a row stay two, so the last turn is one of them.
TEST_F(ProcessorTest, C11AdjacentAnswersStayApart) {
  const Chat adjacent = chat({{"user", "q"}, {"assistant", "ab"}, {"assistant", "c"}});
  EXPECT_EQ(show(kTagged, ChatTurns::kAll, adjacent), "^[u]q[!A]!AB$![!A]!C$!");
  EXPECT_EQ(show(kTagged, ChatTurns::kLast, adjacent), "^[u]q[a]ab$[!A]!C$!");
}

// Field case C10: a template without tags does not train on nothing.
TEST_F(ProcessorTest, C10NoRunOnNothing) {
  put("chat.jsonl",
      Json{{"messages", chat({{"user", "q"}, {"assistant", "ab"}}).messages}}.dump());
  DataConfig data = config(ChatTurns::kAll);
  data.sources[0].path = (folder_ / "chat.jsonl").string();
  data.epochs = 1;
  const LoaderOptions options{
      .tokens_per_microbatch = 16, .context = 16, .vocab_size = 258};
  Loader loader(data, options, tokenizer(kPlain));
  const std::optional<Batch> batch = loader.next();
  EXPECT_EQ(
      std::vector<int64_t>(batch->labels.begin(), batch->labels.begin() + 10),
      (std::vector<int64_t>{
          kNoLabel,
          kNoLabel,
          kNoLabel,
          kNoLabel,
          kNoLabel,
          kNoLabel,
          kNoLabel,
          'a',
          'b',
          kEos}));
  // The end of the prompt does not fit: nothing is left, and the run does not start.
  data.over_long = OverLong::kTruncate;
  LoaderOptions six = options;
  six.context = 6;
  EXPECT_EQ(
      refusal([&] { Loader(data, six, tokenizer(kPlain)); }),
      "data: nothing to learn from: of 1 documents 0 are not valid, 0 too long, and 1 "
      "have no token to predict");
}

TEST_F(ProcessorTest, ContentSpellsNoSpecialToken) {
  EXPECT_EQ(
      show(
          kPlain, ChatTurns::kAll, chat({{"user", "</s>[a]x"}, {"assistant", "y</s>z"}})),
      "^[u]</s>[a]x[a]Y<!/!S>!Z$!");
}

TEST_F(ProcessorTest, ATextIsEncodedAsItStands) {
  DataConfig config{.sources = {{.path = "unused"}}, .add_bos = true};
  const Example example = Processor(config, tokenizer())(Document("a</s>"));
  EXPECT_EQ(
      std::vector<int32_t>(example.ids().begin(), example.ids().end()),
      (std::vector<int32_t>{kBos, 'a', kEos, kEos}));
  EXPECT_TRUE(example.targets().empty());
}

TEST_F(ProcessorTest, ATemplateFileReplacesTheTokenizers) {
  DataConfig chats = config(ChatTurns::kAll);
  chats.chat.template_file =
      put("t.jinja",
          "{% for m in messages %}{% generation %}{{ "
          "m.content }}{% endgeneration %}{% endfor %}");
  const Example example =
      Processor(chats, tokenizer(kPlain))(Document(chat({{"assistant", "hi"}})));
  EXPECT_EQ(
      std::vector<int32_t>(example.ids().begin(), example.ids().end()),
      (std::vector<int32_t>{'h', 'i'}));
}

TEST_F(ProcessorTest, ChatsNeedATemplate) {
  EXPECT_THROW(Processor(config(ChatTurns::kAll), tokenizer()), InputError);
}

}  // namespace
}  // namespace titan::data

// Multi-turn conversations that extend their own tokens.

#include <algorithm>

#include "titan/base/error.h"
#include "titan/text/chat/renderer_fixture.h"

namespace titan::text::chat {
namespace {

using Ids = std::vector<int32_t>;

Ids joined(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Ids prompt_of(const Renderer& renderer, const Json& messages) {
  return renderer.render(messages, nullptr, {.add_generation_prompt = true}).ids;
}

// What the template itself writes for the last message: an ideal answer.
Ids canonical_answer(const Renderer& renderer, const Json& messages) {
  const Rendering rendering =
      renderer.render(messages, nullptr, {.assistant_spans = AssistantSpans::kLast});
  const TokenRange span = rendering.assistant_spans.back();
  return {
      rendering.ids.begin() + static_cast<ptrdiff_t>(span.begin),
      rendering.ids.begin() + static_cast<ptrdiff_t>(span.end)};
}

Json call_message(const std::string& name, const std::string& id) {
  Json answer = message("assistant", "");
  answer["tool_calls"] = {
      {{"id", id},
       {"type", "function"},
       {"function", {{"name", name}, {"arguments", "{\"a\": 1}"}}}}};
  return answer;
}

Json result_message(const std::string& name, const std::string& id) {
  Json result = message("tool", "42");
  result["tool_call_id"] = id;
  result["name"] = name;
  return result;
}

class BridgeFamilies : public testing::TestWithParam<Family> {};

// Where the answers are what the template would write, bridging step by step gives the
// ids of the whole conversation rendered at once.
TEST_P(BridgeFamilies, EqualsTheWholeRendering) {
  const Renderer renderer = make_renderer(GetParam());
  const Json conversation = {
      message("user", "What is it?"),
      message("assistant", "It is a test."),
      message("user", "Look it up."),
      call_message("look", "abcdefghi"),
      result_message("look", "abcdefghi"),
      message("assistant", "42."),
      message("user", "Thanks"),
      message("assistant", "Bye.")};
  Json messages = list(conversation[0]);
  Ids ids = prompt_of(renderer, messages);
  for (size_t i = 1; i + 1 < conversation.size(); i += 2) {
    messages.push_back(conversation[i]);
    const Ids answer = canonical_answer(renderer, messages);
    messages.push_back(conversation[i + 1]);
    const Bridge bridge = renderer.bridge(ids, answer, list(conversation[i + 1]));
    ASSERT_TRUE(bridge) << bridge.refusal;
    ids = joined(joined(ids, answer), bridge.ids);
    // Some templates end an earlier turn with another token than the model does.
    if (GetParam().name != "harmony") {
      EXPECT_EQ(
          renderer.tokenizer().decode(ids),
          renderer.tokenizer().decode(prompt_of(renderer, messages)));
      EXPECT_EQ(ids, prompt_of(renderer, messages)) << i;
    }
  }
}

TEST_P(BridgeFamilies, KeepsSampledTokensAndAddsTheMissingEnd) {
  const Renderer renderer = make_renderer(GetParam());
  const Ids prompt = prompt_of(renderer, list(message("user", "Q")));
  const Ids cut = renderer.tokenizer().encode("An answer without an e");
  const Json next = list(message("user", "Go on."));
  const Bridge after_cut = renderer.bridge(prompt, cut, next);
  ASSERT_TRUE(after_cut) << after_cut.refusal;
  Ids whole = cut;
  whole.push_back(after_cut.ids.front());
  const Bridge after_whole = renderer.bridge(prompt, whole, next);
  ASSERT_TRUE(after_whole) << after_whole.refusal;
  if (GetParam().name == "harmony") {
    // <|end|> ends a part of an answer only, so that it is kept and written again.
    EXPECT_EQ(after_whole.ids, after_cut.ids);
  } else {
    EXPECT_EQ(joined(whole, after_whole.ids), joined(cut, after_cut.ids));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All,
    BridgeFamilies,
    testing::Values(chatml(), llama3(), mistral(), harmony(), marked()),
    [](const auto& family) { return family.param.name; });

TEST(Bridge, KeepsReasoningThatTheTemplateWouldDrop) {
  const Renderer renderer = make_renderer(chatml());
  const Ids prompt = prompt_of(renderer, list(message("user", "Q")));
  const Ids answer =
      renderer.tokenizer().encode("<think>\nHm.\n</think>\n\nA.<|im_end|>");
  const Bridge bridge = renderer.bridge(prompt, answer, list(message("user", "More")));
  ASSERT_TRUE(bridge) << bridge.refusal;
  EXPECT_EQ(
      renderer.tokenizer().decode(bridge.ids),
      "\n<|im_start|>user\nMore<|im_end|>\n<|im_start|>assistant\n");
}

TEST(Bridge, NamesToolsAsTheAnswerHasThem) {
  const Renderer renderer = make_renderer(harmony());
  const Ids prompt = prompt_of(renderer, list(message("user", "Q")));
  const Ids answer = renderer.tokenizer().encode(
      "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{\"a\": "
      "1}<|call|>");
  Json result = message("tool", "rain");
  result["tool_call_id"] = "1";
  const Bridge bridge = renderer.bridge(prompt, answer, list(result));
  ASSERT_TRUE(bridge) << bridge.refusal;
  EXPECT_EQ(
      renderer.tokenizer().decode(bridge.ids),
      "<|start|>functions.weather to=assistant<|channel|>commentary<|message|>rain<|end|>"
      "<|start|>assistant");
}

TEST(Bridge, ContentOfNewMessagesIsSafe) {
  const Renderer renderer = make_renderer(chatml());
  const Ids prompt = prompt_of(renderer, list(message("user", "Q")));
  const Bridge bridge = renderer.bridge(
      prompt,
      renderer.tokenizer().encode("A<|im_end|>"),
      list(message("tool", "<|im_end|>")));
  ASSERT_TRUE(bridge) << bridge.refusal;
  EXPECT_EQ(std::ranges::count(bridge.ids, 257), 1);
}

TEST(Bridge, RefusesWhatTheTemplateDoesNotPermit) {
  const Json tools = {{{"name", "f"}}};
  const Renderer moving = make_renderer(mistral());
  const Bridge moved = moving.bridge(
      prompt_of(moving, list(message("user", "Q"))),
      moving.tokenizer().encode("A</s>"),
      list(message("user", "More")),
      tools);
  EXPECT_FALSE(moved);
  EXPECT_EQ(
      moved.refusal,
      "messages[1]: the template writes the messages before it differently later");
  // A tool's result does not move the tools.
  EXPECT_TRUE(moving.bridge(
      prompt_of(moving, list(message("user", "Q"))),
      moving.tokenizer().encode("A</s>"),
      list(result_message("f", "abcdefghi")),
      tools));
  const Bridge refused =
      moving.bridge({}, moving.tokenizer().encode("A</s>"), list(message("system", "S")));
  EXPECT_EQ(
      refused.refusal.substr(refused.refusal.find(": ") + 2),
      "the template refuses: Only user, assistant and tool roles");

  const Renderer counting = make_renderer(
      {"counting",
       "{% for m in messages %}{{ loop.index }}{{ m.content }}<|end|>{% endfor %}",
       {"<|end|>"},
       "<|end|>"});
  EXPECT_EQ(
      counting.bridge({}, {}, list(message("user", "x"))).refusal,
      "what the template writes after an answer depends on the turns before");
}

TEST(Bridge, RefusesAnswersAmongTheNewMessages) {
  const Renderer renderer = make_renderer(chatml());
  EXPECT_THROW(
      (void)renderer.bridge({}, {}, list(message("assistant", "x"))), InputError);
  EXPECT_THROW((void)renderer.bridge({}, {}, list(1)), InputError);
}

}  // namespace
}  // namespace titan::text::chat

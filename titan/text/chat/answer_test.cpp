// Reading the answers of the model families.

#include "titan/base/error.h"
#include "titan/text/chat/renderer_fixture.h"

namespace titan::text::chat {
namespace {

// Reads `text` as an answer in the format of that name, with nothing known about tokens.
AssistantMessage parse(
    const std::string& format,
    const std::string& text,
    const std::string& prompt = "",
    const Json& tools = nullptr) {
  static const Tokenizer tokenizer = Tokenizer::from_json(
      byte_tokenizer_json({}, {{"added_tokens", {added_token_json(256, "<|im_end|>")}}}),
      "t");
  const Renderer renderer(tokenizer, {.chat_template = "x", .answer_format = format});
  return renderer.parse(tokenizer.encode(text), tokenizer.encode(prompt), tools);
}

struct Call {
  std::string name;
  std::string arguments;
  std::string id;

  bool operator==(const Call&) const = default;
};

std::vector<Call> calls(const AssistantMessage& message) {
  std::vector<Call> result;
  for (const ToolCall& call : message.tool_calls) {
    result.push_back({call.name, call.arguments.dump(), call.id});
  }
  return result;
}

using Calls = std::vector<Call>;

TEST(Answer, EndsWithAStopToken) {
  const AssistantMessage ended = parse("plain", "Hi.<|im_end|>\nmore");
  EXPECT_TRUE(ended.ended);
  EXPECT_EQ(ended.content, "Hi.");
  const AssistantMessage cut = parse("plain", "Hi");
  EXPECT_FALSE(cut.ended);
  EXPECT_EQ(cut.content, "Hi");
  EXPECT_EQ(parse("plain", "").content, "");
}

TEST(Answer, Reasoning) {
  AssistantMessage message = parse("plain", "<think>\nHm.\n\nSo.\n</think>\n\nYes.\n");
  EXPECT_EQ(message.reasoning_content, "Hm.\n\nSo.");
  EXPECT_EQ(message.content, "Yes.\n");
  // The prompt opened the block.
  message = parse("plain", "Hm.</think>Yes.", "assistant\n<think>\n");
  EXPECT_EQ(message.reasoning_content, "Hm.");
  EXPECT_EQ(message.content, "Yes.");
  // Cut within it.
  message = parse("plain", "Hm", "assistant\n<think>\n");
  EXPECT_EQ(message.reasoning_content, "Hm");
  EXPECT_EQ(message.content, "");
  message = parse("plain", "<think>Hm");
  EXPECT_EQ(message.reasoning_content, "Hm");
  EXPECT_EQ(message.content, "");
  // A prompt whose block is closed.
  message = parse("plain", "Hm", "assistant\n<think>\n\n</think>\n\n");
  EXPECT_EQ(message.reasoning_content, "");
  EXPECT_EQ(message.content, "Hm");
  message = parse("mistral", "[THINK]Hm.[/THINK]Yes.");
  EXPECT_EQ(message.reasoning_content, "Hm.");
  EXPECT_EQ(message.content, "Yes.");
}

TEST(Answer, Hermes) {
  const AssistantMessage message = parse(
      "hermes",
      "<think>\na\n</think>\n\nLet me see.\n<tool_call>\n"
      "{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": "
      "\"é\"}}\n</tool_call>\n<tool_call>\n"
      "{\"name\": \"g\", \"arguments\": \"{\\\"x\\\": null}\"}\n</tool_call><|im_end|>");
  EXPECT_EQ(message.reasoning_content, "a");
  EXPECT_EQ(message.content, "Let me see.");
  EXPECT_EQ(
      calls(message),
      (Calls{{"f", "{\"b\":1,\"a\":\"é\"}", ""}, {"g", "{\"x\":null}", ""}}));
  EXPECT_FALSE(message.malformed_tool_call);
  // Cut after the JSON.
  EXPECT_EQ(
      calls(parse("hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {}}")),
      (Calls{{"f", "{}", ""}}));
}

TEST(Answer, ABrokenCallStaysInTheContent) {
  for (const char* text :
       {"<tool_call>{\"name\": \"f\", \"argum",
        "<tool_call>\nf(1)\n</tool_call>",
        "<tool_call>{\"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>",
        "<tool_call>[]</tool_call>"}) {
    const AssistantMessage message = parse("hermes", text);
    EXPECT_EQ(message.content, text);
    EXPECT_TRUE(message.malformed_tool_call) << text;
    EXPECT_TRUE(message.tool_calls.empty());
  }
  std::string deep = "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": ";
  deep += std::string(100'000, '[');
  EXPECT_TRUE(parse("hermes", deep).malformed_tool_call);
  deep += std::string(100'000, ']') + "}}</tool_call>";
  EXPECT_TRUE(parse("hermes", deep).malformed_tool_call);
}

TEST(Answer, Qwen3Coder) {
  const std::string text =
      "Sure.\n<tool_call>\n<function=f>\n<parameter=city>\nZürich\n</parameter>\n"
      "<parameter=days>\n3\n</parameter>\n<parameter=code>\n12\n</parameter>\n"
      "<parameter=list>\n[1, 2]\n</parameter>\n<parameter=text>\na\n\nb\n</parameter>\n"
      "</function>\n</tool_call>";
  const AssistantMessage message = parse("qwen3_coder", text);
  EXPECT_EQ(message.content, "Sure.");
  EXPECT_EQ(
      calls(message),
      (Calls{
          {"f",
           "{\"city\":\"Zürich\",\"days\":3,\"code\":12,\"list\":[1,2],"
           "\"text\":\"a\\n\\nb\"}",
           ""}}));
  // The definition says that a parameter is text.
  const Json tools = {
      {{"type", "function"},
       {"function",
        {{"name", "f"},
         {"parameters", {{"properties", {{"code", {{"type", "string"}}}}}}}}}}};
  EXPECT_EQ(
      parse("qwen3_coder", text, "", tools).tool_calls[0].arguments["code"], Json("12"));
  EXPECT_TRUE(parse("qwen3_coder", "<tool_call><function=f><para").malformed_tool_call);
  EXPECT_TRUE(
      parse("qwen3_coder", "<tool_call><function=f><parameter=x>1</function></tool_call>")
          .malformed_tool_call);
}

TEST(Answer, Llama3Json) {
  EXPECT_EQ(
      calls(parse("llama3_json", "{\"name\": \"f\", \"parameters\": {\"a\": 1}}")),
      (Calls{{"f", "{\"a\":1}", ""}}));
  EXPECT_EQ(
      calls(parse("llama3_json", "<|python_tag|>{\"name\": \"f\", \"parameters\": {}}")),
      (Calls{{"f", "{}", ""}}));
  const AssistantMessage code = parse("llama3_json", "<|python_tag|>print(1)");
  EXPECT_EQ(code.content, "<|python_tag|>print(1)");
  EXPECT_FALSE(code.malformed_tool_call);
  EXPECT_TRUE(parse("llama3_json", "{\"name\": \"f\", \"par").malformed_tool_call);
  EXPECT_EQ(parse("llama3_json", "{\"a\": 1}").content, "{\"a\": 1}");
}

TEST(Answer, Mistral) {
  EXPECT_EQ(
      calls(parse(
          "mistral",
          "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"id\": "
          "\"abcdefghi\"}, "
          "{\"name\": \"g\", \"arguments\": {}}]")),
      (Calls{{"f", "{\"a\":1}", "abcdefghi"}, {"g", "{}", ""}}));
  const AssistantMessage named = parse(
      "mistral", "So:[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g[CALL_ID]x1[ARGS]{}");
  EXPECT_EQ(named.content, "So:");
  EXPECT_EQ(calls(named), (Calls{{"f", "{\"a\":1}", ""}, {"g", "{}", "x1"}}));
  const AssistantMessage broken = parse("mistral", "a[TOOL_CALLS][{\"name\": ");
  EXPECT_EQ(broken.content, "a[TOOL_CALLS][{\"name\": ");
  EXPECT_TRUE(broken.malformed_tool_call);
}

TEST(Answer, Deepseek) {
  EXPECT_EQ(
      calls(parse(
          "deepseek_v3",
          "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"
          "\"a\": 1}"
          "\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```"
          "json\n{}\n```"
          "<｜tool▁call▁end｜><｜tool▁calls▁end｜>")),
      (Calls{{"f", "{\"a\":1}", ""}, {"g", "{}", ""}}));
  const AssistantMessage message = parse(
      "deepseek_v31",
      "Hm.</think>So.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}"
      "<｜tool▁call▁end｜><｜tool▁calls▁end｜>");
  EXPECT_EQ(message.reasoning_content, "Hm.");
  EXPECT_EQ(message.content, "So.");
  EXPECT_EQ(calls(message), (Calls{{"f", "{\"a\":1}", ""}}));
  const AssistantMessage broken =
      parse("deepseek_v31", "So.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f");
  EXPECT_EQ(broken.content, "So.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f");
  EXPECT_TRUE(broken.malformed_tool_call);
}

TEST(Answer, KimiK2) {
  EXPECT_EQ(
      calls(parse(
          "kimi_k2",
          "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
          "<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|><|tool_call_begin|>"
          "functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|>"
          "<|tool_calls_section_end|>")),
      (Calls{
          {"get_weather", "{\"a\":1}", "functions.get_weather:0"},
          {"g", "{}", "functions.g:1"}}));
  EXPECT_TRUE(parse("kimi_k2", "<|tool_calls_section_begin|>x").malformed_tool_call);
}

TEST(Answer, Harmony) {
  const AssistantMessage message = parse(
      "harmony",
      "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary"
      "<|message|>I look it up.<|end|><|start|>assistant<|channel|>commentary "
      "to=functions.f <|constrain|>json<|message|>{\"a\": 1}");
  EXPECT_EQ(message.reasoning_content, "Hm.");
  EXPECT_EQ(message.content, "I look it up.");
  EXPECT_EQ(calls(message), (Calls{{"f", "{\"a\":1}", ""}}));
  const AssistantMessage final_text =
      parse("harmony", "<|channel|>final<|message|>Four.");
  EXPECT_EQ(final_text.content, "Four.");
  EXPECT_EQ(
      calls(parse(
          "harmony",
          " to=functions.f<|channel|>commentary<|constrain|>json<|message|>{\"a\": 1}")),
      (Calls{{"f", "{\"a\":1}", ""}}));
  EXPECT_TRUE(parse("harmony", "<|channel|>commentary to=functions.f<|message|>{")
                  .malformed_tool_call);
  EXPECT_EQ(parse("harmony", "plain").content, "plain");
}

TEST(Answer, HarmonyEndsAtReturnOrCallOnly) {
  const Renderer renderer = make_renderer(harmony());
  const Tokenizer& tokenizer = renderer.tokenizer();
  EXPECT_EQ(renderer.answer_format(), "harmony");
  const AssistantMessage message = renderer.parse(tokenizer.encode(
      "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final"
      "<|message|>Four.<|return|>"));
  EXPECT_TRUE(message.ended);
  EXPECT_EQ(message.reasoning_content, "Hm.");
  EXPECT_EQ(message.content, "Four.");
}

TEST(Answer, FormatIsRecognised) {
  EXPECT_EQ(make_renderer(chatml()).answer_format(), "hermes");
  EXPECT_EQ(make_renderer(llama3()).answer_format(), "llama3_json");
  EXPECT_EQ(make_renderer(mistral()).answer_format(), "mistral");
  EXPECT_EQ(make_renderer(marked()).answer_format(), "plain");
  // From the vocabulary, where the template says nothing.
  EXPECT_EQ(
      make_renderer({"vocabulary", "x", {"[TOOL_CALLS]"}, ""}).answer_format(),
      "mistral");
  EXPECT_EQ(make_renderer(chatml(), {.answer_format = "plain"}).answer_format(), "plain");
  try {
    (void)make_renderer(chatml(), {.answer_format = "hermis"});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(), "no answer format is called \"hermis\"; did you mean \"hermes\"?");
  }
}

TEST(Answer, ToJsonIsAMessage) {
  const AssistantMessage message = parse(
      "hermes",
      "<think>r</think>c<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": "
      "1}}</tool_call>");
  EXPECT_EQ(
      message.to_json().dump(),
      R"({"role":"assistant","content":"c","reasoning_content":"r","tool_calls":)"
      R"([{"type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]})");
  EXPECT_EQ(
      parse("plain", "c").to_json().dump(), R"({"role":"assistant","content":"c"})");
}

}  // namespace
}  // namespace titan::text::chat

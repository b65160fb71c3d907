// Checks spans and bridges of one real chat template, with a byte tokenizer that has the
// template's control tokens.
//
// Usage: check_conversations TEMPLATE TOKENS.json RESULT.json
// TOKENS: {"control": [spellings], "ends": those that end a turn, "bos", "eos"}.
// RESULT: {"format", "spans": the text of each, "user", "tool"}, where the last two are
// "equal" (bridging gives the ids of the whole rendering), "same ending" (the template
// writes earlier turns differently, but what follows the answer is the same), "refused: "
// or "error: " with the reason, or "differs: ".

#include <algorithm>
#include <string>
#include <vector>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/text/byte_tokenizer_fixture.h"
#include "titan/text/chat/renderer.h"
#include "titan/text/tokenizer.h"

namespace titan::text::chat {
namespace {

using Ids = std::vector<int32_t>;

Tokenizer make_tokenizer(const Json& tokens, const fs::path& folder) {
  fs::create_directories(folder);
  Json added = Json::array();
  for (const Json& spelling : tokens.at("control")) {
    added.push_back(added_token_json(
        256 + static_cast<int>(added.size()), spelling.get<std::string>()));
  }
  const Json config = {{"bos_token", tokens.at("bos")}, {"eos_token", tokens.at("eos")}};
  Json ends = Json::array();
  for (const Json& entry : added) {
    if (std::ranges::count(tokens.at("ends"), entry.at("content")) > 0) {
      ends.push_back(entry.at("id"));
    }
  }
  write_file_atomic(
      folder / "tokenizer.json",
      byte_tokenizer_json({}, {{"added_tokens", added}}).dump());
  write_file_atomic(folder / "tokenizer_config.json", config.dump());
  write_file_atomic(
      folder / "generation_config.json", Json{{"eos_token_id", ends}}.dump());
  return Tokenizer::from_folder(folder);
}

Json message(const std::string& role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

Json conversation(bool with_tools) {
  Json messages = {message("user", "Question one?"), message("assistant", "Answer one.")};
  if (!with_tools) {
    messages.push_back(message("user", "Question two?"));
    messages.push_back(message("assistant", "Answer two."));
    messages.push_back(message("user", "Question three?"));
    return messages;
  }
  Json call = message("assistant", "");
  call["tool_calls"] = {
      {{"id", "abcdefghi"},
       {"type", "function"},
       {"function", {{"name", "look_up"}, {"arguments", "{\"what\": \"it\"}"}}}}};
  Json result = message("tool", "The result.");
  result["tool_call_id"] = "abcdefghi";
  result["name"] = "look_up";
  messages.push_back(message("user", "Look it up."));
  messages.push_back(call);
  messages.push_back(result);
  return messages;
}

Json tools() {
  return {
      {{"type", "function"},
       {"function",
        {{"name", "look_up"},
         {"description", "Looks it up."},
         {"parameters",
          {{"type", "object"},
           {"properties", {{"what", {{"type", "string"}, {"description", "What."}}}}},
           {"required", {"what"}}}}}}}};
}

std::string check_spans(const Renderer& renderer) {
  const Json messages = conversation(false);
  const Rendering rendering =
      renderer.render(messages, nullptr, {.assistant_spans = AssistantSpans::kAll});
  std::string found;
  for (const TokenRange& span : rendering.assistant_spans) {
    found += "{" +
             renderer.tokenizer().decode(
                 std::span(rendering.ids).subspan(span.begin, span.end - span.begin)) +
             "}";
  }
  return found;
}

std::span<const int32_t> last_of(const Ids& ids, size_t count) {
  return std::span(ids).last(std::min(count, ids.size()));
}

// Goes through the conversation with the answers that the template would write.
std::string check_bridge(
    const Renderer& renderer, const Json& all, const Json& tool_list) {
  const RenderOptions prompt = {.add_generation_prompt = true};
  Json messages = Json::array({all[0]});
  Ids ids = renderer.render(messages, tool_list, prompt).ids;
  std::string result = "equal";
  for (size_t i = 1; i + 1 < all.size(); i += 2) {
    messages.push_back(all[i]);
    const Rendering rendering =
        renderer.render(messages, tool_list, {.assistant_spans = AssistantSpans::kLast});
    const TokenRange span = rendering.assistant_spans.back();
    Ids answer(
        rendering.ids.begin() + static_cast<ptrdiff_t>(span.begin),
        rendering.ids.begin() + static_cast<ptrdiff_t>(span.end));
    // A sampler stops there, whatever else a template marks as the assistant's.
    const auto stop = std::ranges::find_first_of(answer, renderer.stop_ids());
    answer.erase(stop == answer.end() ? stop : stop + 1, answer.end());
    const Json next = Json::array({all[i + 1]});
    const Bridge bridge = renderer.bridge(ids, answer, next, tool_list);
    if (!bridge) {
      return "refused: " + bridge.refusal;
    }
    messages.push_back(all[i + 1]);
    ids.insert(ids.end(), answer.begin(), answer.end());
    ids.insert(ids.end(), bridge.ids.begin(), bridge.ids.end());
    const Rendering whole = renderer.render(messages, tool_list, prompt);
    if (whole.ids == ids) {
      continue;
    }
    if (!std::ranges::equal(last_of(whole.ids, bridge.ids.size()), bridge.ids)) {
      return "differs: " + renderer.tokenizer().decode(ids) + " <> " + whole.text;
    }
    result = "same ending";
  }
  return result;
}

template <class Check>
std::string outcome(Check&& check) {
  try {
    return check();
  } catch (const InputError& error) {
    return std::string("error: ") + error.what();
  }
}

Json report(const Renderer& renderer) {
  const auto spans = [&] { return check_spans(renderer); };
  const auto user = [&] { return check_bridge(renderer, conversation(false), nullptr); };
  const auto tool = [&] { return check_bridge(renderer, conversation(true), tools()); };
  return {
      {"format", renderer.answer_format()},
      {"spans", outcome(spans)},
      {"user", outcome(user)},
      {"tool", outcome(tool)}};
}

void run(const char* chat_template, const char* tokens, const fs::path& result) {
  const Renderer renderer(
      make_tokenizer(read_json_file(tokens), result.parent_path() / "tokenizer"),
      {.chat_template = read_file(chat_template), .fixed_time = 1741089600});
  write_file_atomic(result, report(renderer).dump());
}

}  // namespace
}  // namespace titan::text::chat

int main(int argc, char** argv) {
  if (argc != 4) {
    return 2;
  }
  titan::text::chat::run(argv[1], argv[2], argv[3]);
  return 0;
}

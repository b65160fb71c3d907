// A chat template from any bytes over a small conversation: text, or one error, within
// the limits on steps, depth and output.

#include <cstdint>
#include <string_view>

#include "titan/base/error.h"
#include "titan/base/json.h"
#include "titan/text/jinja/template.h"

namespace {

using titan::Json;
namespace jinja = titan::text::jinja;

const Json& messages() {
  static const Json kMessages = {
      {{"role", "system"}, {"content", "Be brief."}},
      {{"role", "user"}, {"content", "2 + 2 = \xe2\x82\xac?"}},
      {{"role", "assistant"}, {"content", "<think>x</think>4"}}};
  return kMessages;
}

const Json& tools() {
  static const Json kTools = {
      {{"type", "function"},
       {"name", "f"},
       {"parameters", {{"x", 1.5}, {"y", nullptr}}}}};
  return kTools;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  try {
    const jinja::Limits limits{.steps = 20'000, .text = 1 << 20, .memory = 64 << 20};
    const jinja::Template compiled(source, "fuzz", limits);
    jinja::Arena arena;
    const jinja::Variable variables[] = {
        {"messages", jinja::to_value(messages(), {}, arena, "messages")},
        {"tools", jinja::to_value(tools(), {}, arena, "tools")},
        {"add_generation_prompt", jinja::Value(true)}};
    (void)compiled.render(variables);
  } catch (const titan::Error&) {
  }
  return 0;
}

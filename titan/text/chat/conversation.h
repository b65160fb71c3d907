#pragma once
// Messages, tools and variables as a template sees them, and where its text comes from.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "titan/base/json.h"
#include "titan/text/chat/renderer.h"
#include "titan/text/jinja/template.h"

namespace titan::text::chat {

// What jinja::Mark::source means.
inline constexpr uint32_t kTemplateSource = 0;
inline constexpr uint32_t kOtherSource = 1;  // tools and variables
inline constexpr uint32_t kFirstMessageSource = 2;

// Normalized messages, checked against the schema. Refers to the JSON that it was made
// from, which must outlive it. Not thread-safe.
class Conversation {
 public:
  // InputError names the message and field that does not fit. `variables`: an object.
  Conversation(const Json& messages, const Json& tools, const Json& variables);

  [[nodiscard]] size_t size() const { return messages_.size(); }

  // "messages" with the first `count`, "tools", "documents" and the other variables.
  [[nodiscard]] std::vector<jinja::Variable> variables(size_t count);

  [[nodiscard]] Origin origin(uint32_t source) const;

  [[nodiscard]] bool is_assistant(size_t message) const {
    return roles_[message] == Origin::kAssistant;
  }

 private:
  jinja::Value convert_message(const Json& message, size_t index);
  jinja::Value convert_content(
      const Json& content, jinja::Mark mark, const std::string& where);
  jinja::Value convert_tool_calls(
      const Json& calls, jinja::Mark mark, const std::string& where);
  jinja::Value convert_call(const Json& call, jinja::Mark mark, const std::string& where);
  jinja::Value convert_arguments(
      const Json& arguments, jinja::Mark mark, const std::string& where);

  jinja::Arena arena_;
  std::deque<Json> made_;  // joined content and parsed arguments
  std::vector<jinja::Value> messages_;
  std::vector<Origin> roles_;
  std::vector<jinja::Variable> variables_;
};

}  // namespace titan::text::chat

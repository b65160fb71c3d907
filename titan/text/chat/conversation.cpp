#include "titan/text/chat/conversation.h"

#include <algorithm>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/jinja/json_value.h"

namespace titan::text::chat {
namespace {

using jinja::Dict;
using jinja::Mark;
using jinja::Value;

// Names that a message's reasoning goes by; templates read the first or the second.
constexpr std::string_view kReasoning[] = {"reasoning_content", "thinking", "reasoning"};

// The origin of a role's messages; nothing where the role is not known.
std::optional<Origin> known_role(std::string_view role) {
  constexpr std::pair<std::string_view, Origin> kRoles[] = {
      {"system", Origin::kSystem},
      {"developer", Origin::kSystem},
      {"user", Origin::kUser},
      {"assistant", Origin::kAssistant},
      {"tool", Origin::kTool},
      {"function", Origin::kTool},
      {"ipython", Origin::kTool}};
  for (const auto& [name, origin] : kRoles) {
    if (name == role) {
      return origin;
    }
  }
  return std::nullopt;
}

void check(
    bool good, const std::string& where, std::string_view expected, const Json& got) {
  if (!good) {
    fail<InputError>("{}: expected {}, got {}", where, expected, got.type_name());
  }
}

// The reasoning under any of its names; null where there is none.
const Json* find_reasoning(const Json& message) {
  for (const std::string_view name : kReasoning) {
    const auto found = message.find(name);
    if (found != message.end() && !found->is_null()) {
      return &*found;
    }
  }
  return nullptr;
}

}  // namespace

Conversation::Conversation(
    const Json& messages, const Json& tools, const Json& variables) {
  check(messages.is_array(), "messages", "a list", messages);
  check(tools.is_null() || tools.is_array(), "tools", "a list", tools);
  check(variables.is_object(), "variables", "an object", variables);
  for (size_t i = 0; i < messages.size(); ++i) {
    messages_.push_back(convert_message(messages[i], i));
  }
  const Mark mark{kOtherSource, 0};
  variables_.push_back({"tools", jinja::to_value(tools, mark, arena_, "tools")});
  variables_.push_back({"documents", Value::none()});
  for (const auto& [name, value] : variables.items()) {
    if (name == "messages" || name == "tools" || name == "add_generation_prompt") {
      fail<InputError>("variables: \"{}\" is not a further variable", name);
    }
    variables_.push_back({name, jinja::to_value(value, mark, arena_, name)});
  }
}

std::vector<jinja::Variable> Conversation::variables(size_t count) {
  std::vector<jinja::Variable> variables = variables_;
  variables.push_back(
      {"messages", jinja::make_list(arena_, std::span(messages_).first(count))});
  // The first of a name counts: the caller's before the defaults.
  std::ranges::reverse(variables);
  return variables;
}

Origin Conversation::origin(uint32_t source) const {
  if (source >= kFirstMessageSource) {
    return roles_[source - kFirstMessageSource];
  }
  return source == kOtherSource ? Origin::kSystem : Origin::kTemplate;
}

Value Conversation::convert_message(const Json& message, size_t index) {
  const std::string where = fmt::format("messages[{}]", index);
  check(message.is_object(), where, "an object", message);
  const auto role = message.find("role");
  if (role == message.end()) {
    fail<InputError>("{}: \"role\" is missing", where);
  }
  check(role->is_string(), where + ".role", "a string", *role);
  const Mark mark{kFirstMessageSource + static_cast<uint32_t>(index), 0};
  const std::optional<Origin> origin = known_role(role->get_ref<const std::string&>());
  roles_.push_back(origin.value_or(Origin::kUser));

  std::vector<Dict::Entry> entries;
  const auto add = [&](std::string_view key, const Value& value) {
    entries.push_back({jinja::make_string(arena_, key), value});
  };
  for (const auto& [key, value] : message.items()) {
    if (value.is_null() || std::ranges::count(kReasoning, key) > 0) {
      continue;  // a null is as good as nothing, as in transformers
    }
    const std::string field = where + "." + key;
    if (key == "role") {
      // A known word is as good as the template's own: it can be part of a control token.
      add(key, jinja::to_value(value, origin ? Mark{} : mark, arena_, field));
    } else if (key == "content") {
      add(key, convert_content(value, mark, field));
    } else if (key == "tool_calls") {
      add(key, convert_tool_calls(value, mark, field));
    } else {
      add(key, jinja::to_value(value, mark, arena_, field));
    }
  }
  if (const Json* const reasoning = find_reasoning(message)) {
    const std::string field = where + ".reasoning_content";
    check(reasoning->is_string(), field, "a string", *reasoning);
    const Value value = jinja::to_value(*reasoning, mark, arena_, field);
    add("reasoning_content", value);
    add("thinking", value);
  }
  return jinja::make_dict(arena_, arena_.copy(std::span<const Dict::Entry>(entries)));
}

Value Conversation::convert_content(
    const Json& content, Mark mark, const std::string& where) {
  if (content.is_string()) {
    return jinja::to_value(content, mark, arena_, where);
  }
  check(content.is_array(), where, "a string or a list of parts", content);
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    const Json& part = content[i];
    const std::string field = fmt::format("{}[{}]", where, i);
    check(part.is_object(), field, "an object", part);
    const auto type = part.find("type");
    const auto part_text = part.find("text");
    if (type == part.end() || *type != "text") {
      fail<InputError>(
          "{}.type: expected \"text\", got {}",
          field,
          type == part.end() ? "nothing" : type->dump());
    }
    if (part_text == part.end() || !part_text->is_string()) {
      fail<InputError>("{}.text: expected a string", field);
    }
    text += i == 0 ? "" : "\n";
    text += part_text->get_ref<const std::string&>();
  }
  return jinja::to_value(made_.emplace_back(std::move(text)), mark, arena_, where);
}

Value Conversation::convert_tool_calls(
    const Json& calls, Mark mark, const std::string& where) {
  check(calls.is_array(), where, "a list", calls);
  std::vector<Value> values;
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string field = fmt::format("{}[{}]", where, i);
    check(calls[i].is_object(), field, "an object", calls[i]);
    values.push_back(convert_call(calls[i], mark, field));
  }
  return jinja::make_list(arena_, arena_.copy(std::span<const Value>(values)));
}

// A call, or the "function" within one.
Value Conversation::convert_call(const Json& call, Mark mark, const std::string& where) {
  std::vector<Dict::Entry> entries;
  for (const auto& [key, value] : call.items()) {
    const std::string field = where + "." + key;
    Value converted;
    if (key == "function" && value.is_object()) {
      converted = convert_call(value, mark, field);
    } else if (key == "arguments") {
      converted = convert_arguments(value, mark, field);
    } else {
      converted = jinja::to_value(value, mark, arena_, field);
    }
    entries.push_back({jinja::make_string(arena_, key), converted});
  }
  return jinja::make_dict(arena_, arena_.copy(std::span<const Dict::Entry>(entries)));
}

Value Conversation::convert_arguments(
    const Json& arguments, Mark mark, const std::string& where) {
  if (!arguments.is_string()) {
    check(arguments.is_object(), where, "an object or its JSON text", arguments);
    return jinja::to_value(arguments, mark, arena_, where);
  }
  const std::string& text = arguments.get_ref<const std::string&>();
  Json& parsed = made_.emplace_back(Json::object());
  if (!text.empty()) {  // what some clients send for no arguments
    try {
      parsed = parse_json(text, where);
    } catch (const FormatError& error) {
      fail<InputError>("{}", error.what());
    }
  }
  check(parsed.is_object(), where, "the JSON text of an object", parsed);
  return jinja::to_value(parsed, mark, arena_, where);
}

}  // namespace titan::text::chat

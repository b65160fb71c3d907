#include "titan/data/document.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "titan/base/error.h"

namespace titan::data {
namespace {

std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::object:
      return "an object";
    default:
      return "a number";
  }
}

// Takes some members out of an object without building the rest.
class MemberReader : public nlohmann::json_sax<Json> {
 public:
  explicit MemberReader(const std::vector<std::string>& names) : names_(names) {}

  bool null() override { return take(nullptr); }

  bool boolean(bool value) override { return take(value); }

  bool number_integer(number_integer_t value) override { return take(value); }

  bool number_unsigned(number_unsigned_t value) override { return take(value); }

  bool number_float(number_float_t value, const string_t&) override {
    return take(value);
  }

  bool binary(binary_t&) override { return false; }

  bool string(string_t& value) override {
    return wanted() ? take(std::move(value)) : take(Json::string_t());
  }

  bool start_object(size_t) override {
    return depth_ == 0 ? enter() : open(Json::object());
  }

  bool start_array(size_t) override { return open(Json::array()); }

  bool end_object() override { return close(); }

  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Json* object = nullptr;
    if (depth_ == 1) {
      name_ = std::ranges::find(names_, name) == names_.end() ? "" : name;
      object = name_.empty() ? nullptr : &members_;
    } else if (!building_.empty()) {
      building_.back().name = name;
      object = &building_.back().value;
    }
    if (object != nullptr && object->contains(name)) {
      problem_ = fmt::format("member \"{}\" occurs twice", name);
    }
    return problem_.empty();
  }

  bool parse_error(
      size_t position,
      const std::string&,
      const nlohmann::detail::exception& error) override {
    column_ = position;
    // What comes after the position; without the text read so far, which may be huge.
    std::string message = error.what();
    message.erase(0, message.find(": ") + 2);
    problem_ = "not valid JSON: " + message.substr(0, message.find("; last read"));
    return false;
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }

  [[nodiscard]] size_t column() const { return column_; }

  // The members that were found.
  [[nodiscard]] Json& members() { return members_; }

 private:
  struct Level {
    Json value;
    std::string name;  // of the member that is read
  };

  [[nodiscard]] bool wanted() const { return !name_.empty() || !building_.empty(); }

  bool enter() {
    ++depth_;
    return true;
  }

  bool open(Json empty) {
    if (depth_ == 0) {
      return take(std::move(empty));
    }
    if (wanted()) {
      building_.push_back({std::move(empty), ""});
    }
    return enter();
  }

  bool close() {
    --depth_;
    if (building_.empty()) {
      return true;
    }
    Json value = std::move(building_.back().value);
    building_.pop_back();
    return take(std::move(value));
  }

  bool take(Json value) {
    if (depth_ == 0) {
      problem_ = fmt::format("expected one JSON object a line, got {}", kind_of(value));
      return false;
    }
    if (building_.empty()) {
      if (!name_.empty()) {
        members_[name_] = std::move(value);
        name_.clear();
      }
      return true;
    }
    Level& level = building_.back();
    if (level.value.is_object()) {
      level.value[level.name] = std::move(value);
    } else {
      level.value.push_back(std::move(value));
    }
    return true;
  }

  const std::vector<std::string>& names_;
  Json members_ = Json::object();
  int depth_ = 0;
  std::string name_;             // the wanted member whose value comes next
  std::vector<Level> building_;  // the values that are open in it
  std::string problem_;
  size_t column_ = 1;
};

[[noreturn]] void fail_member(
    const std::string& where,
    const std::string& name,
    std::string_view expected,
    std::string_view got) {
  fail<FormatError>("{}:1: {}: {}, expected {}", where, name, got, expected);
}

// Gives a message the members role and content where it has from and value.
void rename_author(Json& message) {
  using Name = std::pair<std::string_view, std::string_view>;
  constexpr std::array kRoles = {
      Name{"human", "user"}, Name{"gpt", "assistant"}, Name{"observation", "tool"}};
  if (message.contains("role") || !message.contains("from") ||
      !message.contains("value") || !message["from"].is_string()) {
    return;
  }
  const auto from = message["from"].get<std::string>();
  const auto* role = std::ranges::find(kRoles, from, &Name::first);
  message = Json{
      {"role", role == kRoles.end() ? from : std::string(role->second)},
      {"content", std::move(message["value"])}};
}

Chat chat_of(Json& members, const SourceConfig& source, const std::string& where) {
  const std::string& name = source.messages_field;
  if (!members.contains(name)) {
    fail_member(where, name, "a list of messages", "missing");
  }
  Chat chat{std::move(members[name]), nullptr};
  if (!chat.messages.is_array() || chat.messages.empty()) {
    fail<FormatError>(
        "{}:1: {}: expected a list of messages, got {}",
        where,
        name,
        chat.messages.is_array() ? "an empty one" : kind_of(chat.messages));
  }
  for (size_t i = 0; i < chat.messages.size(); ++i) {
    Json& message = chat.messages[i];
    if (message.is_object()) {
      rename_author(message);
    }
    if (!message.is_object() || !message.contains("role") ||
        !message["role"].is_string()) {
      fail<FormatError>(
          "{}:1: {}.{}: expected an object with a role, got {}",
          where,
          name,
          i,
          message.is_object() ? "one without" : kind_of(message));
    }
  }
  const bool answers = std::ranges::any_of(
      chat.messages, [](const Json& message) { return message["role"] == "assistant"; });
  if (!answers) {
    fail<FormatError>("{}:1: {}: no message of the assistant", where, name);
  }
  if (members.contains(source.tools_field)) {
    chat.tools = std::move(members[source.tools_field]);
    if (!chat.tools.is_null() && !chat.tools.is_array()) {
      fail<FormatError>(
          "{}:1: {}: expected a list of tools, got {}",
          where,
          source.tools_field,
          kind_of(chat.tools));
    }
  }
  return chat;
}

std::string text_of(Json& members, const SourceConfig& source, const std::string& where) {
  const std::string& name = source.text_field;
  if (!members.contains(name)) {
    fail_member(where, name, "a string", "missing");
  }
  Json& text = members[name];
  if (!text.is_string()) {
    fail<FormatError>("{}:1: {}: expected a string, got {}", where, name, kind_of(text));
  }
  return std::move(text.get_ref<std::string&>());
}

}  // namespace

std::vector<std::string> record_members(const SourceConfig& source) {
  if (source.kind == DocumentKind::kChat) {
    return {source.messages_field, source.tools_field};
  }
  return {source.text_field};
}

Document read_record(
    std::string_view json, const SourceConfig& source, const std::string& where) {
  const std::vector<std::string> names = record_members(source);
  MemberReader reader(names);
  if (!Json::sax_parse(json, &reader)) {
    fail<FormatError>(
        "{}:{}: {}", where, std::min(reader.column(), json.size() + 1), reader.problem());
  }
  if (source.kind == DocumentKind::kChat) {
    return chat_of(reader.members(), source, where);
  }
  return text_of(reader.members(), source, where);
}

}  // namespace titan::data

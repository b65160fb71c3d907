#include "titan/config/assign.h"

#include <algorithm>
#include <set>

#include "titan/base/error.h"
#include "titan/base/nearest.h"

namespace titan::config {
namespace {

// What the user typed as JSON; the text itself, and why, where it is none.
struct ReadText {
  Json value;
  std::string why_not_json;
};

ReadText read_text(const std::string& text) {
  try {
    return {parse_json(text, "value"), ""};
  } catch (const FormatError& error) {
    return {text, error.what()};
  } catch (const Json::exception& error) {
    return {text, error.what()};
  }
}

// Text that was meant as JSON: the reader's reason helps.
bool looks_like_json(const std::string& text) {
  return text.starts_with('[') || text.starts_with('{');
}

class Assigner {
 public:
  explicit Assigner(const Lister& list) : list_(list), fields_(list()) {}

  void run(const Assignment& assignment) {
    source_ = assignment.source;
    note_.clear();
    if (!assignment.typed) {
      assign(assignment.path, assignment.value);
      return;
    }
    const auto text = assignment.value.get<std::string>();
    const ReadText read = read_text(text);
    if (!read.why_not_json.empty() && looks_like_json(text)) {
      note_ = fmt::format(" ({})", read.why_not_json);
    }
    const Field* field = find(assignment.path);
    const bool leaf = field != nullptr && field->kind == Field::Kind::kLeaf;
    const bool done = leaf && (takes(*field, read.value) || takes(*field, text));
    if (!done) {
      assign(assignment.path, read.value);
    }
  }

  std::vector<std::string> take_problems() { return std::move(problems_); }

 private:
  // Sets the leaf if it accepts `value`.
  static bool takes(const Field& field, const Json& value) {
    try {
      field.set(value);
      return true;
    } catch (const ConfigError&) {
      return false;
    }
  }

  void assign(const std::string& path, const Json& value) {
    if (const Field* field = find(path)) {
      if (field->kind == Field::Kind::kLeaf) {
        set_leaf(*field, value);
      } else {
        set_list(*field, value);
      }
    } else if (is_group(path)) {
      set_group(path, value);
    } else {
      add_problem(path, "no such setting" + suggestion(path));
    }
  }

  void set_leaf(const Field& field, const Json& value) {
    try {
      field.set(value);
    } catch (const ConfigError& error) {
      add_problem(field.path, error.what());
    }
  }

  void set_list(const Field& field, const Json& value) {
    const std::string path = field.path;
    try {
      field.make_list(list_from_json(value, field.type).size());
    } catch (const ConfigError& error) {
      add_problem(path, error.what());
      return;
    }
    fields_ = list_();
    for (size_t i = 0; i < value.size(); ++i) {
      assign(join_path(path, std::to_string(i)), value[i]);
    }
  }

  void set_group(const std::string& path, const Json& value) {
    if (!value.is_object()) {
      add_problem(
          path,
          fmt::format(
              "is a group of settings; name one of {}",
              fmt::join(members_of(path), ", ")));
      return;
    }
    for (const auto& [name, member] : value.items()) {
      assign(join_path(path, name), member);
    }
  }

  [[nodiscard]] const Field* find(std::string_view path) const {
    const auto found = std::find_if(
        fields_.begin(), fields_.end(), [&](const Field& f) { return f.path == path; });
    return found == fields_.end() ? nullptr : &*found;
  }

  static bool is_under(const Field& field, const std::string& group) {
    return group.empty() || field.path.starts_with(group + ".");
  }

  [[nodiscard]] bool is_group(const std::string& path) const {
    return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) {
      return is_under(field, path);
    });
  }

  [[nodiscard]] std::vector<std::string> members_of(const std::string& group) const {
    std::vector<std::string> members;
    const size_t start = group.empty() ? 0 : group.size() + 1;
    for (const Field& field : fields_) {
      if (is_under(field, group)) {
        const size_t end = field.path.find('.', start);
        std::string member = field.path.substr(start, end - start);
        if (members.empty() || members.back() != member) {
          members.push_back(std::move(member));
        }
      }
    }
    return members;
  }

  // "; did you mean ...?": a setting of the same last name in another group, else the
  // nearest path of a setting or group.
  [[nodiscard]] std::string suggestion(const std::string& path) const {
    const std::string last = "." + path.substr(path.rfind('.') + 1);
    std::set<std::string> known;
    std::vector<std::string> same_name;
    for (const Field& field : fields_) {
      if (field.path.ends_with(last)) {
        same_name.push_back(field.path);
      }
      for (size_t dot = field.path.find('.'); dot != std::string::npos;
           dot = field.path.find('.', dot + 1)) {
        known.insert(field.path.substr(0, dot));
      }
      known.insert(field.path);
    }
    if (same_name.empty()) {
      same_name.assign(known.begin(), known.end());
    }
    return same_name.empty()
               ? ""
               : fmt::format("; did you mean \"{}\"?", nearest_name(path, same_name));
  }

  void add_problem(const std::string& path, const std::string& message) {
    std::string line = source_.empty() ? "" : source_ + ": ";
    line += path.empty() ? "" : path + ": ";
    problems_.push_back(line + message + note_);
  }

  const Lister& list_;
  std::vector<Field> fields_;
  std::string source_;
  std::string note_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<Assignment> parse_overrides(std::span<const std::string> texts) {
  std::vector<Assignment> assignments;
  std::vector<std::string> problems;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      problems.push_back(fmt::format("expected path=value, got \"{}\"", text));
      continue;
    }
    assignments.push_back(
        {.path = text.substr(0, equals),
         .value = text.substr(equals + 1),
         .typed = true,
         .source = ""});
  }
  fail_if_any(problems);
  return assignments;
}

std::vector<std::string> assign(
    const Lister& list, std::span<const Assignment> assignments) {
  Assigner assigner(list);
  for (const Assignment& assignment : assignments) {
    assigner.run(assignment);
  }
  return assigner.take_problems();
}

}  // namespace titan::config

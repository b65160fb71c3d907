#pragma once
// Chat templates: Jinja as Hugging Face's transformers sets it up. An immutable sandbox,
// trim_blocks and lstrip_blocks on, loop controls, {% generation %}, tojson without
// escaping, raise_exception() and strftime_now(). What is not supported is refused when
// the template is compiled; docs/chat_templates.md lists it.

#include <cstdint>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "titan/text/jinja/context.h"
#include "titan/text/jinja/json_value.h"
#include "titan/text/jinja/value.h"

namespace titan::text::jinja {

struct Program;

struct Variable {
  std::string_view name;
  Value value;
};

// Compiled once; rendering is thread-safe.
class Template {
 public:
  // `name` stands for the template in errors. FormatError with line and column where the
  // source is no template or uses what titan does not support.
  Template(std::string_view source, std::string name, const Limits& limits = {});
  ~Template();
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;

  // `time`: seconds since 1970 that strftime_now() shows, in the local time zone.
  // InputError with line and column: the variables are not what the template expects, the
  // template refuses them, or a limit is reached.
  // REQUIRES: the arena of the variables lives until the call returns.
  [[nodiscard]] Output render(
      std::span<const Variable> variables, std::time_t time = 0) const;

  // The template takes this variable from outside.
  [[nodiscard]] bool reads(std::string_view variable) const;

  // The template has {% generation %} blocks.
  [[nodiscard]] bool has_generation() const;

 private:
  std::string name_;
  Limits limits_;
  std::unique_ptr<const Program> program_;
};

}  // namespace titan::text::jinja

#include "titan/text/jinja/template.h"

#include <algorithm>
#include <utility>

#include "titan/text/jinja/callable.h"
#include "titan/text/jinja/parser.h"

namespace titan::text::jinja {
namespace {

// Functions of jinja2 that no chat template needs. Without this they would be undefined
// variables, which is no error everywhere.
constexpr std::string_view kRefused[] = {"cycler", "joiner", "lipsum", "self", "super"};

// A function of this name, where there is one.
Value global_function(Arena& arena, std::string_view name) {
  const Builtin* const function = find_function(name);
  if (function == nullptr) {
    return {};
  }
  return Value(static_cast<const Callable*>(arena.make<BoundBuiltin>(function, Value())));
}

}  // namespace

Template::Template(std::string_view source, std::string name, const Limits& limits)
    : name_(std::move(name)), limits_(limits) {
  auto program = std::make_unique<Program>();
  Parser(source, name_, *program).run();
  for (const std::string& variable : program->scopes.free_names()) {
    if (std::ranges::find(kRefused, variable) != std::end(kRefused)) {
      fail<FormatError>("{}: the function \"{}\" is not supported", name_, variable);
    }
  }
  program_ = std::move(program);
}

Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

Output Template::render(std::span<const Variable> variables, std::time_t time) const {
  Arena arena(limits_.memory);
  TextBuilder text(limits_.text);
  const std::vector<std::string>& names = program_->scopes.free_names();
  const std::span<Value> globals = arena.make_array<Value>(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const auto given = std::ranges::find(variables, names[i], &Variable::name);
    globals[i] =
        given != variables.end() ? given->value : global_function(arena, names[i]);
  }
  Context context{name_, limits_, arena, text, globals, time};
  Frame frame{program_->scopes.root_activation().make_slots(arena), nullptr};
  context.frame = &frame;
  try {
    context.run(program_->body);
  } catch (const LimitReached& limit) {
    context.fail("the limit of the {} is reached", limit.what);
  }
  return std::move(text).finish();
}

bool Template::reads(std::string_view variable) const {
  const std::vector<std::string>& names = program_->scopes.free_names();
  return std::ranges::find(names, variable) != names.end();
}

bool Template::has_generation() const {
  return program_->has_generation;
}

}  // namespace titan::text::jinja

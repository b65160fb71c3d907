#include "titan/text/jinja/macro.h"

#include <algorithm>

namespace titan::text::jinja {
namespace {

constexpr const char* kNoCaller = "there is no caller";

}  // namespace

Value Macro::call(Context& context, const Arguments& arguments) const {
  Frame* const outer = context.frame;
  context.frame =
      context.arena.make<Frame>(code_->activation->make_slots(context.arena), parent_);
  bind(context, arguments);
  const Value result = context.capture(code_->body);
  context.frame = outer;
  return result;
}

void Macro::bind(Context& context, const Arguments& arguments) const {
  const std::span<const Value> given = arguments.positional;
  const std::span<Value> slots = context.frame->slots;
  const auto& parameters = code_->parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Value* const named = arguments.find(parameters[i].name);
    if (i < given.size()) {
      if (named != nullptr) {
        context.fail(
            "{}: argument \"{}\" is given twice", code_->name, parameters[i].name);
      }
      slots[parameters[i].slot] = given[i];
    } else if (named != nullptr) {
      slots[parameters[i].slot] = *named;
    }
  }
  if (given.size() > parameters.size() && !code_->varargs_slot) {
    context.fail(
        "{}: expected at most {} arguments, got {}",
        code_->name,
        parameters.size(),
        given.size());
  }
  bind_keywords_left(context, arguments);
  if (code_->varargs_slot) {
    slots[*code_->varargs_slot] = make_tuple_value(
        context.arena, given.subspan(std::min(given.size(), parameters.size())));
  }
  // Defaults may use the parameters before them.
  for (const MacroCode::Parameter& parameter : parameters) {
    if (slots[parameter.slot].is_missing()) {
      slots[parameter.slot] = parameter.otherwise
                                  ? context.evaluate(*parameter.otherwise)
                                  : Value::undefined(parameter.reason.c_str());
    }
  }
}

void Macro::bind_keywords_left(Context& context, const Arguments& arguments) const {
  const std::span<Value> slots = context.frame->slots;
  const std::span<Dict::Entry> left =
      context.arena.make_array<Dict::Entry>(arguments.keywords.size());
  size_t size = 0;
  if (code_->caller_slot) {
    slots[*code_->caller_slot] = Value::undefined(kNoCaller);
  }
  for (const Keyword& keyword : arguments.keywords) {
    if (std::ranges::count(code_->parameters, keyword.name, &MacroCode::Parameter::name) >
        0) {
      continue;
    }
    if (keyword.name == "caller" && code_->caller_slot) {
      slots[*code_->caller_slot] = keyword.value;
    } else if (code_->kwargs_slot) {
      left[size++] = {make_string(context.arena, keyword.name), keyword.value};
    } else {
      context.fail("{}: there is no argument \"{}\"", code_->name, keyword.name);
    }
  }
  if (code_->kwargs_slot) {
    slots[*code_->kwargs_slot] = make_dict(context.arena, left.first(size));
  }
}

}  // namespace titan::text::jinja

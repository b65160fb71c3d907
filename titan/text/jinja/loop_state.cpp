#include "titan/text/jinja/loop_state.h"

#include <algorithm>

#include "titan/text/jinja/callable.h"

namespace titan::text::jinja {
namespace {

Value cycle(Context& context, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.keywords.empty()) {
    context.fail("cycle: expected the values to cycle through");
  }
  return arguments.positional[self.loop().index() % arguments.positional.size()];
}

Value changed(Context& context, const Value& self, const Arguments& arguments) {
  return Value(self.loop().changed(context.arena.copy(arguments.positional)));
}

constexpr Builtin kMethods[] = {
    {.name = "cycle", .function = cycle, .any_arguments = true},
    {.name = "changed", .function = changed, .any_arguments = true},
};

}  // namespace

Value LoopState::attribute(std::string_view name) const {
  const auto index = static_cast<int64_t>(index_);
  const auto size = static_cast<int64_t>(items_.size());
  if (name == "index") {
    return Value(index + 1);
  }
  if (name == "index0") {
    return Value(index);
  }
  if (name == "first") {
    return Value(index == 0);
  }
  if (name == "last") {
    return Value(index + 1 == size);
  }
  if (name == "length") {
    return Value(size);
  }
  if (name == "revindex") {
    return Value(size - index);
  }
  if (name == "revindex0") {
    return Value(size - index - 1);
  }
  if (name == "previtem") {
    return index > 0 ? items_[index_ - 1] : Value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    return index + 1 < size ? items_[index_ + 1]
                            : Value::undefined("there is no next item");
  }
  if (name == "depth") {
    return Value(depth_ + 1);
  }
  return name == "depth0" ? Value(depth_) : Value();
}

bool LoopState::changed(std::span<const Value> values) {
  const bool same =
      asked_ &&
      std::equal(values.begin(), values.end(), last_.begin(), last_.end(), equal);
  asked_ = true;
  last_ = values;
  return !same;
}

std::span<const Builtin> loop_methods() {
  return kMethods;
}

}  // namespace titan::text::jinja

#include "titan/text/jinja/statements.h"

#include "titan/text/jinja/macro.h"
#include "titan/text/jinja/print.h"

namespace titan::text::jinja {

void Target::assign(Context& context, const Value& value) const {
  if (!attribute.empty()) {
    const Value owner = context.evaluate(*name_space);
    context.position = position;
    if (!context.defined(owner).is(Kind::kNamespace)) {
      context.fail(
          "attributes can be set on a namespace only, not on a {}", type_name(owner));
    }
    set_in_namespace(context, owner.name_space(), attribute, value);
    return;
  }
  if (!is_unpacked) {
    context.frame->slots[slot] = value;
    return;
  }
  context.position = position;
  const std::span<const Value> values = context.iterate(context.defined(value));
  if (values.size() != items.size()) {
    context.fail("expected {} values to unpack, got {}", items.size(), values.size());
  }
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].assign(context, values[i]);
  }
}

Flow TextStatement::run(Context& context) const {
  context.text.append(text_, {});
  return Flow::kNext;
}

Flow PrintStatement::run(Context& context) const {
  context.print(*value_);
  return Flow::kNext;
}

Flow IfStatement::run(Context& context) const {
  for (const Branch& branch : branches_) {
    if (branch.condition == nullptr || context.evaluate(*branch.condition).truth()) {
      return context.run(branch.body);
    }
  }
  return Flow::kNext;
}

Flow ForStatement::run(Context& context) const {
  const Value items = context.evaluate(*iterable);
  context.position = iterable->position();
  return run_items(context, context.iterate(items), 0);
}

Value ForStatement::recurse(
    Context& context, const LoopState& loop, const Value& items) const {
  Frame* const inner = context.frame;
  context.frame = loop.outer();
  const size_t begin = context.text.size();
  run_items(context, context.iterate(items), loop.depth() + 1);
  context.frame = inner;
  return make_string(context.arena, context.text.take(begin, context.arena));
}

Flow ForStatement::run_items(
    Context& context, std::span<const Value> items, int64_t depth) const {
  Frame* const outer = context.frame;
  if (activation != nullptr) {
    context.frame =
        context.arena.make<Frame>(activation->make_slots(context.arena), outer);
  }
  if (condition) {
    items = filter(context, items);
  }
  auto* const loop = context.arena.make<LoopState>(this, items, depth, outer);
  Flow flow = Flow::kNext;
  bool finished = false;  // one iteration, without break or continue
  for (size_t i = 0; i < items.size() && flow != Flow::kBreak; ++i) {
    context.count(1);
    scope->clear(*context.frame);
    loop->set_index(i);
    context.frame->slots[loop_slot] = Value(loop);
    target.assign(context, items[i]);
    flow = context.run(body);
    finished = finished || flow == Flow::kNext;
  }
  context.frame = outer;
  if (!finished) {
    otherwise_scope->clear(*outer);
    return context.run(otherwise);
  }
  return Flow::kNext;
}

std::span<const Value> ForStatement::filter(
    Context& context, std::span<const Value> items) const {
  std::vector<Value> kept;
  for (const Value& item : items) {
    scope->clear(*context.frame);
    target.assign(context, item);
    if (context.evaluate(*condition).truth()) {
      kept.push_back(item);
    }
  }
  return context.arena.copy(std::span<const Value>(kept));
}

Flow SetStatement::run(Context& context) const {
  target_.assign(context, context.evaluate(*value_));
  return Flow::kNext;
}

Flow CaptureStatement::run(Context& context) const {
  scope->clear(*context.frame);
  context.frame->slots[slot] = context.capture(body);
  const Value value = context.evaluate(*result);
  if (target) {
    target->assign(context, value);
  } else {
    print(context, value);
  }
  return Flow::kNext;
}

Flow WithStatement::run(Context& context) const {
  const std::span<Value> values = context.arena.make_array<Value>(variables.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = context.evaluate(*variables[i].second);
  }
  scope->clear(*context.frame);
  for (size_t i = 0; i < values.size(); ++i) {
    variables[i].first.assign(context, values[i]);
  }
  return context.run(body);
}

Flow GenerationStatement::run(Context& context) const {
  scope->clear(*context.frame);
  const size_t begin = context.text.size();
  const uint32_t number = ++context.num_generations;
  context.run(body);
  context.text.set_generation(begin, number);
  return Flow::kNext;
}

Flow MacroStatement::run(Context& context) const {
  context.frame->slots[slot] = Value(
      static_cast<const Callable*>(context.arena.make<Macro>(&code, context.frame)));
  return Flow::kNext;
}

Flow CallStatement::run(Context& context) const {
  const Value caller(
      static_cast<const Callable*>(context.arena.make<Macro>(&code, context.frame)));
  context.enter();
  const Value value = call->call(context, caller);
  context.leave();
  print(context, value);
  return Flow::kNext;
}

}  // namespace titan::text::jinja

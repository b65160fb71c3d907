#pragma once
// The variable `loop` of a for loop.

#include <cstddef>
#include <span>
#include <string_view>

#include "titan/text/jinja/value.h"

namespace titan::text::jinja {

class ForStatement;
struct Frame;

class LoopState {
 public:
  // `outer`: the variables of where the loop stands.
  LoopState(
      const ForStatement* statement,
      std::span<const Value> items,
      int64_t depth,
      Frame* outer)
      : statement_(statement), items_(items), depth_(depth), outer_(outer) {}

  void set_index(size_t index) { index_ = index; }

  // loop.index, first, previtem, ...; missing where there is no such attribute.
  [[nodiscard]] Value attribute(std::string_view name) const;

  // loop.changed(...): the values differ from those of the call before.
  [[nodiscard]] bool changed(std::span<const Value> values);

  [[nodiscard]] size_t index() const { return index_; }

  [[nodiscard]] int64_t depth() const { return depth_; }

  [[nodiscard]] const ForStatement* statement() const { return statement_; }

  [[nodiscard]] Frame* outer() const { return outer_; }

 private:
  const ForStatement* statement_;
  std::span<const Value> items_;
  int64_t depth_;  // 0: not in a recursive call
  Frame* outer_;
  size_t index_ = 0;
  std::span<const Value> last_;  // of changed()
  bool asked_ = false;
};

}  // namespace titan::text::jinja

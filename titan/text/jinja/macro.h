#pragma once
// A macro as a value: its code and the variables of where it was defined.

#include "titan/text/jinja/callable.h"
#include "titan/text/jinja/statements.h"

namespace titan::text::jinja {

class Macro final : public Callable {
 public:
  Macro(const MacroCode* code, Frame* parent) : code_(code), parent_(parent) {}

  [[nodiscard]] Value call(Context& context, const Arguments& arguments) const override;

 private:
  void bind(Context& context, const Arguments& arguments) const;
  void bind_keywords_left(Context& context, const Arguments& arguments) const;

  const MacroCode* code_;
  Frame* parent_;
};

}  // namespace titan::text::jinja

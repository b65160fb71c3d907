#pragma once
// The loader's position as JSON, as a checkpoint holds it; see docs/formats.md.

#include "titan/base/json.h"
#include "titan/data/config.h"
#include "titan/data/mixture.h"
#include "titan/data/pack.h"

namespace titan::data {

// What a position belongs to. All three outlive this.
struct PositionContext {
  const DataConfig& config;
  const PackOptions& packing;
  const Mixture& mixture;
};

[[nodiscard]] Json position_to_json(
    const PackCursor& cursor, const PositionContext& context);

// InputError: the position belongs to other documents or settings; the first difference
// is named. FormatError: not a position.
[[nodiscard]] PackCursor position_from_json(
    const Json& json, const PositionContext& context);

}  // namespace titan::data

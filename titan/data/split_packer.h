#pragma once
// Concat-then-split: documents follow each other and are cut where a row ends.

#include <optional>

#include "titan/data/pack.h"
#include "titan/data/row.h"

namespace titan::data {

// Only the last row of all has filling.
class SplitPacker : public Packer {
 public:
  SplitPacker(const PackOptions& options, Intake intake, PackCursor start);

  [[nodiscard]] bool next(Batch* row) override;

  [[nodiscard]] const PackCursor& cursor() const override { return cursor_; }

  [[nodiscard]] const DocumentCounts& counts() const override { return intake_.counts(); }

 private:
  [[nodiscard]] bool load();
  void append_piece(Row& row);

  PackOptions options_;
  Intake intake_;
  PackCursor cursor_;
  std::optional<Example> example_;  // the one that rows have used in part
};

}  // namespace titan::data

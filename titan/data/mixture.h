#pragma once
// Several orders of documents as one, in fixed proportions.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "titan/data/document_order.h"

namespace titan::data {

struct MixturePart {
  std::unique_ptr<DocumentOrder> order;
  double weight = 1;  // > 0; only the ratios count
};

// The next document comes from the part with the smallest (2 x documents used + 1) /
// weight, the first of equals (the divisor method of Webster and Sainte-Lague): at every
// place the numbers used are the weights' proportions, rounded. With the parts' sizes as
// weights all parts end an epoch together. A part that has been used `epochs` times drops
// out and the others go on. All of the state are the numbers used. Not thread-safe.
class Mixture {
 public:
  // `epochs` 0: no end.
  Mixture(std::vector<MixturePart> parts, int64_t epochs);

  struct Turn {
    Ticket ticket;
    size_t part = 0;
  };

  // The next document; nullopt at the end.
  [[nodiscard]] std::optional<Turn> next();

  // Goes on after so many documents of each part.
  void seek(const std::vector<int64_t>& used);

  [[nodiscard]] const std::vector<MixturePart>& parts() const { return parts_; }

  // Documents of each part.
  [[nodiscard]] std::vector<int64_t> sizes() const;

 private:
  std::vector<MixturePart> parts_;
  int64_t epochs_;
  std::vector<int64_t> used_;
};

}  // namespace titan::data

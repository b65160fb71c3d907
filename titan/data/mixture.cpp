#include "titan/data/mixture.h"

#include <utility>

namespace titan::data {

Mixture::Mixture(std::vector<MixturePart> parts, int64_t epochs)
    : parts_(std::move(parts)), epochs_(epochs), used_(parts_.size(), 0) {}

std::optional<Mixture::Turn> Mixture::next() {
  std::optional<size_t> chosen;
  double smallest = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (epochs_ > 0 && used_[i] == epochs_ * parts_[i].order->size()) {
      continue;
    }
    const double quotient = static_cast<double>(2 * used_[i] + 1) / parts_[i].weight;
    if (!chosen || quotient < smallest) {
      chosen = i;
      smallest = quotient;
    }
  }
  if (!chosen) {
    return std::nullopt;
  }
  ++used_[*chosen];
  return Turn{parts_[*chosen].order->next(), *chosen};
}

void Mixture::seek(const std::vector<int64_t>& used) {
  used_ = used;
  for (size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].order->seek(used[i]);
  }
}

std::vector<int64_t> Mixture::sizes() const {
  std::vector<int64_t> sizes;
  for (const MixturePart& part : parts_) {
    sizes.push_back(part.order->size());
  }
  return sizes;
}

}  // namespace titan::data

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "titan/text/pair_map.h"

namespace titan::text {

// Texts with a value each, walked byte by byte. Reading is thread-safe.
class ByteTrie {
 public:
  static constexpr int32_t kRoot = 0;
  static constexpr int32_t kNone = -1;

  // REQUIRES: value >= 0.
  void add(std::string_view text, int32_t value) {
    int32_t node = kRoot;
    for (const char byte : text) {
      int32_t& child = edges_.get_or_add(node, static_cast<unsigned char>(byte));
      if (child == 0) {
        child = static_cast<int32_t>(values_.size());
        values_.push_back(kNone);
      }
      node = child;
    }
    values_[static_cast<size_t>(node)] = value;
  }

  // The node behind `node` and `byte`, or kNone.
  [[nodiscard]] int32_t child(int32_t node, char byte) const {
    const int32_t* child = edges_.find(node, static_cast<unsigned char>(byte));
    return child == nullptr ? kNone : *child;
  }

  // The value of the text that ends in `node`, or kNone.
  [[nodiscard]] int32_t value(int32_t node) const {
    return values_[static_cast<size_t>(node)];
  }

 private:
  PairMap<int32_t> edges_;  // by node and byte; the root is nobody's child
  std::vector<int32_t> values_{kNone};
};

}  // namespace titan::text

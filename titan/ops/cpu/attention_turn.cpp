#include "titan/ops/cpu/attention_turn.h"

namespace titan::ops::cpu {

void AttentionTurn::await(int32_t added) const {
  int32_t now = added_.load(std::memory_order_acquire);
  while (now != added) {
    added_.wait(now, std::memory_order_acquire);
    now = added_.load(std::memory_order_acquire);
  }
}

void AttentionTurn::advance(int32_t added) {
  added_.store(added, std::memory_order_release);
  added_.notify_all();
}

}  // namespace titan::ops::cpu

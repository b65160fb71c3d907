#pragma once
// How the work of a grouped product is shared by threads. Groups are ragged, so threads
// get equal cost, not equal numbers of groups.

#include <span>

#include "titan/ops/cpu/operands.h"
#include "titan/ops/cpu/parallel.h"

namespace titan::ops::cpu {

// Rows [offsets[g], offsets[g + 1]) belong to group g.
using GroupOffsets = std::span<const int64_t>;

inline int64_t group_count(GroupOffsets offsets) {
  return static_cast<int64_t>(offsets.size()) - 1;
}

inline Range rows_of_group(GroupOffsets offsets, int64_t group) {
  return {offsets[static_cast<size_t>(group)], offsets[static_cast<size_t>(group) + 1]};
}

template <class T>
Matrix<T> rows_of(const Matrix<T>& all, Range rows) {
  return all.rows_from(rows.begin, rows.end - rows.begin);
}

// Each group is `units` units of cost(rows of the group) >= 0 each. Cuts the units of all
// groups in their order into one contiguous share a thread and calls body(group, units)
// for each group's part of a share, in order. A unit is whole, and always one call's.
// REQUIRES: body does not throw.
template <class Cost, class Body>
void parallel_groups(
    GroupOffsets offsets, int64_t units, const Cost& cost, const Body& body) {
  const int64_t groups = group_count(offsets);
  const auto cost_of = [&](int64_t group) {
    const Range rows = rows_of_group(offsets, group);
    return cost(rows.end - rows.begin);
  };
  int64_t total = 0;
  for (int64_t g = 0; g < groups; ++g) {
    total += units * cost_of(g);
  }
  const int64_t threads = std::min<int64_t>(at::get_num_threads(), groups * units);
  parallel_tasks(threads, [&](Range shares) {
    const BrgemmScope scope;
    const int64_t from = total * shares.begin / threads;
    const int64_t to = total * shares.end / threads;
    int64_t before = 0;  // cost of the groups before g
    for (int64_t g = 0; g < groups && before < to; ++g) {
      const int64_t each = cost_of(g);
      if (each == 0) {
        continue;
      }
      // A unit is the share's that its first moment of cost falls into.
      const auto first_unit = [&](int64_t at) {
        return std::clamp<int64_t>(ceil_div(at - before, each), 0, units);
      };
      const Range part{first_unit(from), first_unit(to)};
      if (part.begin < part.end) {
        body(g, part);
      }
      before += units * each;
    }
  });
}

}  // namespace titan::ops::cpu

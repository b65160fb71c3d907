#include "titan/ops/cpu/attention_backward.h"

#include <map>
#include <memory>
#include <vector>

#include <ATen/ATen.h>

#include "titan/ops/attention_run.h"
#include "titan/ops/cpu/scratch.h"

namespace titan::ops {
namespace {

constexpr int kStorageSlot = 11;  // scratch of the calling thread

// What a task's key tiles may take of the second-level cache.
constexpr size_t kMostKeyBytes = size_t{1} << 20;

// The spans that share keys.
struct KeyGroup {
  int64_t key_row = 0;
  PositionRange keys{};
  std::vector<cpu::AttentionQueryTile> tiles;
  int64_t scores = 0;  // that are computed for one head

  [[nodiscard]] int64_t first_tile(int64_t tile) const { return keys.begin / tile; }

  [[nodiscard]] int64_t end_tile(int64_t tile) const {
    return (keys.end + tile - 1) / tile;
  }
};

void add_span(
    const SequenceSpan& span,
    const AttentionRule& rule,
    const cpu::AttentionBackwardTiling& tiling,
    KeyGroup& group) {
  const PositionRange all{span.key_position, span.key_end()};
  group.key_row = span.key_begin;
  group.keys = {all.begin, std::max(group.keys.end, all.end)};
  const int64_t end = span.position + span.query_length;
  for (int64_t begin = span.position; begin < end;) {
    const int64_t stop = std::min((begin / tiling.queries + 1) * tiling.queries, end);
    const PositionRange seen{
        rule.visible(begin, all).begin, rule.visible(stop - 1, all).end};
    group.tiles.push_back(
        {.row = span.query_begin + begin - span.position,
         .rows = stop - begin,
         .position = begin,
         .keys = seen,
         .key_tile_begin = seen.begin / tiling.keys,
         .key_tile_end = seen.begin < seen.end
                             ? (seen.end + tiling.keys - 1) / tiling.keys
                             : seen.begin / tiling.keys});
    group.scores += (stop - begin) * (seen.end - seen.begin);
    begin = stop;
  }
}

// Groups with the most work first, so that the threads end together.
std::vector<KeyGroup> group_spans(
    const SequenceContext& sequence,
    const AttentionRule& rule,
    const cpu::AttentionBackwardTiling& tiling) {
  std::map<int64_t, KeyGroup> by_key_row;
  for (const SequenceSpan& span : sequence.spans) {
    if (span.query_length > 0) {
      add_span(span, rule, tiling, by_key_row[span.key_begin]);
    }
  }
  std::vector<KeyGroup> groups;
  for (auto& [row, group] : by_key_row) {
    groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
    return a.scores > b.scores;
  });
  return groups;
}

class Backward {
 public:
  Backward(cpu::AttentionBackward args, std::vector<KeyGroup> groups)
      : args_(args),
        groups_(std::move(groups)),
        key_tile_(cpu::attention_backward_tiling().keys),
        threads_(at::get_num_threads()) {
    choose_run();
    cut();
  }

  void run() {
    const size_t bytes =
        (cpu::attention_backward_bytes(args_, key_tiles_) + kPage - 1) / kPage * kPage;
    char* storage = cpu::scratch_of<char>(kStorageSlot, bytes * threads_);
    run_tasks(static_cast<int64_t>(tasks_.size()), [&](int64_t i, int64_t thread) {
      cpu::attention_backward(args_, tasks_[i], storage + bytes * thread);
    });
  }

 private:
  static constexpr size_t kPage = 4096;

  // How many key tiles a task takes: what the cache holds, but tasks for all threads.
  void choose_run() {
    constexpr int64_t kTasksPerThread = 4;
    const size_t one = cpu::attention_backward_bytes(args_, 1);
    const size_t tile_bytes = cpu::attention_backward_bytes(args_, 2) - one;
    int64_t all = 0;
    for (const KeyGroup& group : groups_) {
      all += (group.end_tile(key_tile_) - group.first_tile(key_tile_)) *
             args_.tensors.kv_heads;
    }
    const auto fit = static_cast<int64_t>(kMostKeyBytes / tile_bytes);
    const int64_t fair = threads_ > 1 ? all / (kTasksPerThread * threads_) : fit;
    key_tiles_ = std::max<int64_t>(1, std::min(fit, fair));
  }

  // Tasks of a unit in ascending order; the heads of a group side by side, so that they
  // seldom wait for each other.
  void cut() {
    const int64_t kv_heads = args_.tensors.kv_heads;
    units_.reserve(groups_.size() * static_cast<size_t>(kv_heads));
    for (const KeyGroup& group : groups_) {
      const size_t first_unit = units_.size();
      const int64_t end = group.end_tile(key_tile_);
      int64_t begin = group.first_tile(key_tile_);
      const bool shared = end - begin > key_tiles_;
      for (int64_t g = 0; g < kv_heads; ++g) {
        units_.push_back(
            {.tiles = group.tiles.data(),
             .num_tiles = static_cast<int64_t>(group.tiles.size()),
             .keys = group.keys,
             .key_row = group.key_row,
             .kv_head = g,
             .grad_query = nullptr,
             .turns = nullptr});
        if (shared) {
          share(units_.back());
        }
      }
      for (; begin < end; begin += key_tiles_) {
        for (int64_t g = 0; g < kv_heads; ++g) {
          tasks_.push_back(
              {&units_[first_unit + g], begin, std::min(begin + key_tiles_, end)});
        }
      }
    }
  }

  // Room for the sums of dQ that several tasks add to.
  void share(cpu::AttentionBackwardUnit& unit) {
    const int64_t sums = unit.num_tiles * (args_.tensors.heads / args_.tensors.kv_heads);
    sums_.push_back(at::empty({sums, cpu::attention_grad_query_size(args_)}, at::kFloat));
    turns_.push_back(std::make_unique<cpu::AttentionTurn[]>(static_cast<size_t>(sums)));
    unit.grad_query = sums_.back().mutable_data_ptr<float>();
    unit.turns = turns_.back().get();
  }

  cpu::AttentionBackward args_;
  std::vector<KeyGroup> groups_;
  int64_t key_tile_;
  int64_t threads_;
  int64_t key_tiles_ = 1;  // of a task
  std::vector<cpu::AttentionBackwardUnit> units_;
  std::vector<cpu::AttentionBackwardTask> tasks_;
  std::vector<Tensor> sums_;
  std::vector<std::unique_ptr<cpu::AttentionTurn[]>> turns_;
};

// Gradients of rows that no task writes are zero.
AttentionGradients empty_gradients(
    const AttentionInputs& in, const std::vector<KeyGroup>& groups) {
  int64_t keys = 0;
  for (const KeyGroup& group : groups) {
    keys += group.keys.end - group.keys.begin;
  }
  const auto like = [](const Tensor& x, bool whole) {
    return whole ? at::empty(x.sizes(), x.options()) : at::zeros(x.sizes(), x.options());
  };
  const bool all_keys = keys == in.key.size(0);
  AttentionGradients grads{
      like(in.query, true),
      like(in.key, all_keys),
      like(in.value, all_keys),
      at::empty({in.query.size(0), in.query.size(1)}, at::kFloat)};
  for (const KeyGroup& group : groups) {
    for (const cpu::AttentionQueryTile& tile : group.tiles) {
      if (tile.key_tile_begin == tile.key_tile_end) {
        grads.query.narrow(0, tile.row, tile.rows).zero_();
      }
    }
  }
  return grads;
}

}  // namespace

AttentionGradients run_attention_backward(
    const AttentionInputs& inputs,
    const AttentionOutput& output,
    const AttentionOutput& grad,
    const SequenceContext& sequence,
    const AttentionRule& rule) {
  std::vector<KeyGroup> groups =
      group_spans(sequence, rule, cpu::attention_backward_tiling());
  AttentionGradients grads = empty_gradients(inputs, groups);
  const Tensor grad_out =
      grad.out.defined() ? grad.out.contiguous() : at::zeros_like(output.out);
  const cpu::AttentionBackward args{
      .tensors = attention_tensors(inputs),
      .rule = rule,
      .out = output.out.const_data_ptr(),
      .grad_out = grad_out.const_data_ptr(),
      .log_sum_exp = output.log_sum_exp.const_data_ptr<float>(),
      .delta = grads.delta.mutable_data_ptr<float>(),
      .grad_query = grads.query.mutable_data_ptr(),
      .grad_key = grads.key.mutable_data_ptr(),
      .grad_value = grads.value.mutable_data_ptr()};
  constexpr int64_t kGrain = 64;
  at::parallel_for(0, inputs.query.size(0), kGrain, [&](int64_t begin, int64_t end) {
    cpu::attention_delta(args, begin, end);
  });
  if (grad.log_sum_exp.defined()) {
    grads.delta.sub_(grad.log_sum_exp);
  }
  Backward(args, std::move(groups)).run();
  return grads;
}

}  // namespace titan::ops

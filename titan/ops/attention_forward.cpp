#include "titan/ops/cpu/attention_forward.h"

#include <tuple>
#include <vector>

#include <ATen/ATen.h>

#include "titan/ops/attention_run.h"
#include "titan/ops/cpu/scratch.h"

namespace titan::ops {
namespace {

constexpr int kPackSlot = 10;  // scratch of the calling thread

// Packed keys that stand in memory at a time: longer caches are worked off in parts.
constexpr size_t kMostPackedBytes = size_t{256} << 20;

// Some sequences and key-value heads of a step, cut into tasks.
struct Part {
  struct Task {
    size_t keys;  // index
    cpu::AttentionTask task;
  };

  struct KeyTile {
    size_t keys;
    int64_t index;
    size_t offset;  // in the packed buffer
  };

  std::vector<cpu::AttentionKeys> keys;
  std::vector<Task> tasks;
  std::vector<KeyTile> packed;  // tiles that several tasks read
  size_t packed_bytes = 0;
};

class Forward {
 public:
  Forward(const cpu::AttentionForward& args, const SequenceContext& sequence)
      : args_(args),
        sequence_(sequence),
        tiling_(cpu::attention_tiling(args.tensors.bf16)),
        tile_bytes_(cpu::attention_tile_bytes(args)),
        group_(args.tensors.heads / args.tensors.kv_heads) {
    int64_t units = 0;
    for (const SequenceSpan& span : sequence.spans) {
      units += span.query_length > 0 ? args.tensors.kv_heads : 0;
    }
    if (units > 0) {
      const int64_t threads = at::get_num_threads();
      most_heads_ = (group_ * units + threads - 1) / threads;
    }
  }

  void run() {
    for (const SequenceSpan& span : sequence_.spans) {
      for (int64_t g = 0; g < args_.tensors.kv_heads && span.query_length > 0; ++g) {
        add(span, g);
        if (part_.packed_bytes >= kMostPackedBytes) {
          run_part();
        }
      }
    }
    run_part();
  }

 private:
  // One sequence and key-value head.
  void add(const SequenceSpan& span, int64_t kv_head) {
    const PositionRange all{span.key_position, span.key_end()};
    const AttentionRule& rule = args_.rule;
    const PositionRange seen{
        rule.visible(span.position, all).begin,
        rule.visible(span.position + span.query_length - 1, all).end};
    part_.keys.push_back(
        {.rows = sequence_.key_rows(span),
         .range = seen,
         .kv_head = kv_head,
         .packed = nullptr});
    const size_t before = part_.tasks.size();
    const int64_t most = cut_queries(span, kv_head * group_);
    if (part_.tasks.size() - before > 1 && most > cpu::kFewQueries) {
      for (int64_t t = seen.begin / tiling_.keys; t * tiling_.keys < seen.end; ++t) {
        part_.packed.push_back({part_.keys.size() - 1, t, part_.packed_bytes});
        part_.packed_bytes += tile_bytes_;
      }
    }
  }

  // The query tiles of one sequence and key-value head. Where a tile has few rows
  // (decoding), one task takes several query heads, whose rows stand on the same keys,
  // but leaves some to every thread. Returns the most rows of a task.
  int64_t cut_queries(const SequenceSpan& span, int64_t first_head) {
    const int64_t end = span.position + span.query_length;
    int64_t most_rows = 0;
    for (int64_t begin = span.position; begin < end;) {
      const int64_t stop = std::min((begin / tiling_.queries + 1) * tiling_.queries, end);
      const int64_t rows = stop - begin;
      const int64_t most =
          std::clamp<int64_t>(std::min(tiling_.queries / rows, most_heads_), 1, group_);
      for (int64_t h = 0; h < group_; h += most) {
        part_.tasks.push_back(
            {part_.keys.size() - 1,
             {.query_row = span.query_begin + begin - span.position,
              .rows = rows,
              .position = begin,
              .head = first_head + h,
              .heads = std::min(most, group_ - h)}});
      }
      most_rows = std::max(most_rows, rows * most);
      begin = stop;
    }
    return most_rows;
  }

  // Long sequences and, in each, long tasks first, so that the threads end together.
  // Tasks on the same keys stay side by side: the keys stay in the cache.
  void order_tasks() {
    const auto rank = [&](const Part::Task& task) {
      const PositionRange range = part_.keys[task.keys].range;
      const int64_t last = task.task.position + task.task.rows - 1;
      const int64_t seen = args_.rule.visible(last, range).end -
                           args_.rule.visible(task.task.position, range).begin;
      return std::tuple(range.begin - range.end, task.keys, -seen);
    };
    std::stable_sort(
        part_.tasks.begin(), part_.tasks.end(), [&](const auto& a, const auto& b) {
          return rank(a) < rank(b);
        });
  }

  void run_part() {
    char* packed = cpu::scratch_of<char>(kPackSlot, part_.packed_bytes);
    run_tasks(static_cast<int64_t>(part_.packed.size()), [&](int64_t i, int64_t) {
      const Part::KeyTile& tile = part_.packed[i];
      cpu::attention_pack_tile(
          args_, part_.keys[tile.keys], tile.index, packed + tile.offset);
    });
    // Backwards: the first tile of a sequence stays.
    for (auto tile = part_.packed.rbegin(); tile != part_.packed.rend(); ++tile) {
      part_.keys[tile->keys].packed = packed + tile->offset;
    }
    order_tasks();
    run_tasks(static_cast<int64_t>(part_.tasks.size()), [&](int64_t i, int64_t) {
      const Part::Task& task = part_.tasks[i];
      cpu::attention_forward(args_, part_.keys[task.keys], task.task);
    });
    part_ = Part();
  }

  const cpu::AttentionForward& args_;
  const SequenceContext& sequence_;
  cpu::AttentionTiling tiling_;
  size_t tile_bytes_;
  int64_t group_;           // query heads of a key-value head
  int64_t most_heads_ = 1;  // of a task, so that there are tasks for all threads
  Part part_;
};

}  // namespace

AttentionOutput run_attention(
    const AttentionInputs& inputs,
    const SequenceContext& sequence,
    const AttentionRule& rule,
    const Tensor& sinks) {
  const auto& q = inputs.query;
  AttentionOutput output{
      at::empty({q.size(0), q.size(1), inputs.value.size(2)}, q.options()),
      at::empty({q.size(0), q.size(1)}, q.options().dtype(at::kFloat))};
  const cpu::AttentionForward args{
      .tensors = attention_tensors(inputs),
      .rule = rule,
      .sinks = sinks.defined() ? sinks.const_data_ptr<float>() : nullptr,
      .out = output.out.mutable_data_ptr(),
      .log_sum_exp = output.log_sum_exp.mutable_data_ptr<float>()};
  Forward(args, sequence).run();
  return output;
}

}  // namespace titan::ops

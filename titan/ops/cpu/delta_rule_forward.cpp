#include "titan/ops/cpu/delta_chunk.h"
#include "titan/ops/cpu/scratch.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

// Scratch slots of this file.
constexpr int kChunkSlot = 8;
constexpr int kMemorySlot = 9;

void store_rows(
    const DeltaChunk& chunk,
    const DeltaForward& args,
    const DeltaPart& part,
    int64_t head) {
  const DeltaRule& rule = args.rule;
  const int64_t bytes = rule.value_width * (rule.bf16 ? 2 : 4);
  for (int64_t i = 0; i < part.rows; ++i) {
    const int64_t at = (part.row + i) * rule.heads + head;
    char* to = static_cast<char*>(args.out) + at * bytes;
    store_row(chunk.out(i), rule.bf16, rule.value_width, to);
  }
}

// Ends each full chunk, and on demand the one that the span leaves unfinished.
void forward(
    const DeltaForward& args,
    const DeltaSpan& span,
    int64_t head,
    const DeltaMemory& memory,
    bool end_unfinished) {
  const DeltaWidths widths(args.rule.key_width, args.rule.value_width);
  DeltaChunk chunk(args.rule, scratch_of<float>(kChunkSlot, DeltaChunk::size(widths)));
  for (int64_t done = 0; done < span.rows;) {
    const int64_t begin = (span.position + done) % kDeltaChunk;
    const int64_t left = span.rows - done;
    const int64_t rows = left < kDeltaChunk - begin ? left : kDeltaChunk - begin;
    const DeltaPart part{span.row + done, begin, rows};
    chunk.read(part, head);
    chunk.compute(memory, DeltaReads::kKeysAndQueries);
    store_rows(chunk, args, part, head);
    if (begin + rows == kDeltaChunk || end_unfinished) {
      chunk.end_chunk(memory);
    }
    done += rows;
  }
}

}  // namespace

void delta_rule_forward(
    const DeltaForward& args,
    const DeltaSpan& span,
    int64_t head,
    const DeltaStates& states) {
  const FlushDenormals flush;
  const DeltaWidths widths(args.rule.key_width, args.rule.value_width);
  float* storage = scratch_of<float>(kMemorySlot, DeltaMemory::size(widths));
  const DeltaMemory memory(storage, widths);
  load_state(states.begin, args.rule, memory.state);
  forward(args, span, head, memory, /*end_unfinished=*/states.end != nullptr);
  if (states.end != nullptr) {
    store_state(memory.state, args.rule, states.end);
  }
}

void delta_rule_continue(
    const DeltaForward& args, const DeltaSpan& span, int64_t head, float* memory) {
  const FlushDenormals flush;
  const DeltaWidths widths(args.rule.key_width, args.rule.value_width);
  const DeltaMemory remembered(memory, widths);
  if (span.position == 0) {
    load_state(nullptr, args.rule, remembered.state);
  }
  forward(args, span, head, remembered, /*end_unfinished=*/false);
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE

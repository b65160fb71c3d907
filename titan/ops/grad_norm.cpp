#include "titan/ops/grad_norm.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "titan/ops/cpu/rows.h"

namespace titan::ops {
namespace {

struct Block {
  const float* data;
  int64_t count;
};

}  // namespace

std::vector<double> sums_of_squares(std::span<const Tensor> tensors) {
  constexpr int64_t kBlock = 65536;
  std::vector<Block> blocks;
  std::vector<size_t> ends;  // of each tensor's blocks
  for (const Tensor& x : tensors) {
    TORCH_CHECK(
        x.scalar_type() == at::kFloat && x.is_contiguous(),
        "[sums_of_squares] expected contiguous fp32, got ",
        x.is_contiguous() ? "" : "non-contiguous ",
        x.scalar_type());
    const auto* data = x.const_data_ptr<float>();
    for (int64_t begin = 0; x.is_cpu() && begin < x.numel(); begin += kBlock) {
      blocks.push_back({data + begin, std::min(kBlock, x.numel() - begin)});
    }
    ends.push_back(blocks.size());
  }
  std::vector<double> of_blocks(blocks.size());
  at::parallel_for(
      0, static_cast<int64_t>(blocks.size()), 1, [&](int64_t begin, int64_t end) {
        for (auto b = static_cast<size_t>(begin); b < static_cast<size_t>(end); ++b) {
          of_blocks[b] = cpu::sum_of_squares(blocks[b].data, blocks[b].count);
        }
      });
  std::vector<double> sums;
  size_t b = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    double sum = x.is_cpu() ? 0 : x.square().sum(at::kDouble).item<double>();
    for (; b < ends[i]; ++b) {
      sum += of_blocks[b];
    }
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace titan::ops

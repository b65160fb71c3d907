// Makes the CUDA kernels of a region from its chain: one thread block a row in forward,
// one a block of rows in backward.
#pragma once

#include <cuda_bf16.h>

#include "titan/ops/cuda/region_kernels.h"
#include "titan/ops/cuda/scalar_ops.cuh"
#include "titan/ops/region/chain.h"

namespace titan::ops::cuda {

inline constexpr int kThreads = 256;

// What the device is given; a copy of cpu::RegionArgs without host pointers.
struct DeviceArgs {
  cpu::RegionOperand inputs[cpu::kMaxRegionOperands];
  cpu::RegionOperand outputs[cpu::kMaxRegionOperands];
  cpu::RegionOperand d_inputs[cpu::kMaxRegionOperands];
  float* d_columns[cpu::kMaxRegionOperands];
  float scalars[cpu::kMaxRegionOperands];
  float* row_means;
  int64_t rows, width, block_rows;
};

__device__ inline float widen(float x) {
  return x;
}

__device__ inline float widen(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

template <class T>
__device__ inline T narrow(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else {
    return __float2bfloat16_rn(x);
  }
}

template <class T>
struct DeviceArithmetic {
  __device__ static Number number(double x) { return {static_cast<float>(x)}; }

  __device__ static Number rounded(Number a) { return {widen(narrow<T>(a.x))}; }
};

// The sum over the threads of a block, the same in all: a tree of fixed shape.
__device__ inline float block_sum(float x) {
  __shared__ float partial[kThreads];
  partial[threadIdx.x] = x;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    __syncthreads();
  }
  const float sum = partial[0];
  __syncthreads();
  return sum;
}

template <class R, class T>
struct RegionKernel : region::Chain<R, Number, DeviceArithmetic<T>> {
  using Chain = region::Chain<R, Number, DeviceArithmetic<T>>;
  using Chain::back;
  using Chain::kInputs;
  using Chain::kMeans;
  using Chain::value;
  using typename Chain::Gradients;
  using typename Chain::Lane;
  using typename Chain::MeanList;
  using typename Chain::Results;

  template <class V>
  __device__ static V* element(
      const cpu::RegionOperand& at, int64_t row, int64_t column) {
    return static_cast<V*>(at.data) + row / at.row_divisor * at.row_stride + column;
  }

  __device__ static Lane first_lane(const DeviceArgs& args) {
    Lane lane;
    for (int k = 0; k < R::kScalars; ++k) {
      lane.scalar[k] = {args.scalars[k]};
    }
    return lane;
  }

  template <int I>
  __device__ static void load_inputs(
      const DeviceArgs& args, int64_t row, int64_t column, Lane& lane) {
    if constexpr (I < kInputs) {
      const cpu::RegionOperand& from = args.inputs[I];
      if constexpr (R::kInputs[I] == region::Kind::kRows) {
        lane.input[I] = {widen(*element<const T>(from, row, column))};
      } else if constexpr (R::kInputs[I] == region::Kind::kTable) {
        lane.input[I] = {*element<const float>(from, row, column)};
      } else {
        lane.input[I] = {static_cast<const float*>(from.data)[column]};
      }
      load_inputs<I + 1>(args, row, column, lane);
    }
  }

  __device__ static void forward_row(const DeviceArgs& args, int64_t row) {
    Lane lane = first_lane(args);
    region::for_each(MeanList{}, [&]<class A>(region::RowMean<A> /*mean*/, auto k) {
      float sum = 0;
      for (int64_t c = threadIdx.x; c < args.width; c += kThreads) {
        load_inputs<0>(args, row, c, lane);
        sum += value(A{}, lane).x;
      }
      const float mean = block_sum(sum) / static_cast<float>(args.width);
      lane.mean[k] = {mean};
      if (threadIdx.x == 0) {
        args.row_means[row * kMeans + k] = mean;
      }
    });
    for (int64_t c = threadIdx.x; c < args.width; c += kThreads) {
      load_inputs<0>(args, row, c, lane);
      region::for_each(Results{}, [&](auto e, auto k) {
        *element<T>(args.outputs[k], row, c) = narrow<T>(value(e, lane).x);
      });
    }
  }

  __device__ static void results_backward(
      const DeviceArgs& args, int64_t row, int64_t c, const Lane& lane, Gradients& g) {
    region::for_each(Results{}, [&](auto e, auto k) {
      back(e, Number{widen(*element<const T>(args.outputs[k], row, c))}, lane, g);
    });
  }

  // What each element of a row mean's argument gets as its adjoint, by mean.
  __device__ static void mean_seeds(
      const DeviceArgs& args, int64_t row, Lane& lane, float* seeds) {
    float sums[kMeans + 1] = {};
    for (int64_t c = threadIdx.x; c < args.width; c += kThreads) {
      load_inputs<0>(args, row, c, lane);
      Gradients g{};
      results_backward(args, row, c, lane, g);
      for (int k = 0; k < kMeans; ++k) {
        sums[k] += g.mean[k].x;
      }
    }
    // Outer means first: each gives to those inside it.
    for (int of = kMeans - 1; of >= 0; --of) {
      seeds[of] = block_sum(sums[of]) / static_cast<float>(args.width);
      region::for_each(MeanList{}, [&]<class A>(region::RowMean<A> /*mean*/, auto k) {
        if constexpr (region::size_of(region::MeansIn<A>{}) > 0) {
          for (int64_t c = threadIdx.x; k == of && c < args.width; c += kThreads) {
            load_inputs<0>(args, row, c, lane);
            Gradients g{};
            back(A{}, Number{seeds[of]}, lane, g);
            for (int inner = 0; inner < of; ++inner) {
              sums[inner] += g.mean[inner].x;
            }
          }
        }
      });
    }
  }

  // `first`: the first row of its block, whose column gradients are stored, not added.
  template <int I>
  __device__ static void store_gradients(
      const DeviceArgs& args, int64_t row, int64_t c, const Gradients& g, bool first) {
    if constexpr (I < kInputs) {
      if constexpr (R::kInputs[I] == region::Kind::kRows) {
        if (args.d_inputs[I].data != nullptr) {
          *element<T>(args.d_inputs[I], row, c) = narrow<T>(g.input[I].x);
        }
      } else if constexpr (R::kInputs[I] == region::Kind::kColumns) {
        if (args.d_columns[I] != nullptr) {
          float& to = args.d_columns[I][blockIdx.x * args.width + c];
          to = first ? g.input[I].x : to + g.input[I].x;
        }
      }
      store_gradients<I + 1>(args, row, c, g, first);
    }
  }

  __device__ static void backward_row(const DeviceArgs& args, int64_t row, bool first) {
    Lane lane = first_lane(args);
    for (int k = 0; k < kMeans; ++k) {
      lane.mean[k] = {args.row_means[row * kMeans + k]};
    }
    float seeds[kMeans + 1] = {};
    if constexpr (kMeans > 0) {
      mean_seeds(args, row, lane, seeds);
    }
    for (int64_t c = threadIdx.x; c < args.width; c += kThreads) {
      load_inputs<0>(args, row, c, lane);
      Gradients g{};
      results_backward(args, row, c, lane, g);
      region::for_each(MeanList{}, [&]<class A>(region::RowMean<A> /*mean*/, auto k) {
        back(A{}, Number{seeds[k]}, lane, g);
      });
      store_gradients<0>(args, row, c, g, first);
    }
  }
};

template <class R, class T>
__global__ void forward_kernel(DeviceArgs args) {
  RegionKernel<R, T>::forward_row(args, blockIdx.x);
}

template <class R, class T>
__global__ void backward_kernel(DeviceArgs args) {
  const int64_t begin = blockIdx.x * args.block_rows;
  for (int64_t row = begin; row < min(begin + args.block_rows, args.rows); ++row) {
    RegionKernel<R, T>::backward_row(args, row, row == begin);
  }
}

template <class R>
DeviceArgs device_args(const cpu::RegionArgs& args, int64_t rows) {
  DeviceArgs to{};
  for (int k = 0; k < cpu::kMaxRegionOperands; ++k) {
    to.inputs[k] = args.inputs[k];
    to.outputs[k] = args.outputs[k];
    to.d_inputs[k] = args.d_inputs[k];
  }
  for (int k = 0; k < R::kScalars; ++k) {
    to.scalars[k] = args.scalars[k];
  }
  to.row_means = args.row_means;
  to.rows = rows;
  to.width = args.width;
  return to;
}

inline void check_launch(std::string_view region) {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
    fail_launch(region, error);
  }
}

template <class R, class T>
void forward(const cpu::RegionArgs& args, int64_t rows, cudaStream_t stream) {
  if (rows > 0) {
    const auto blocks = static_cast<unsigned>(rows);
    forward_kernel<R, T><<<blocks, kThreads, 0, stream>>>(device_args<R>(args, rows));
    check_launch(R::kName);
  }
}

template <class R, class T>
void backward(
    const cpu::RegionArgs& args,
    int64_t rows,
    int64_t block_rows,
    float* const* d_columns,
    cudaStream_t stream) {
  if (rows > 0) {
    DeviceArgs to = device_args<R>(args, rows);
    to.block_rows = block_rows;
    for (int k = 0; k < cpu::kMaxRegionOperands; ++k) {
      to.d_columns[k] = d_columns[k];
    }
    const auto blocks = static_cast<unsigned>((rows + block_rows - 1) / block_rows);
    backward_kernel<R, T><<<blocks, kThreads, 0, stream>>>(to);
    check_launch(R::kName);
  }
}

template <class R>
const RegionKernels& region_kernels() {
  static constexpr RegionKernels kKernels{
      &forward<R, float>,
      &forward<R, __nv_bfloat16>,
      &backward<R, float>,
      &backward<R, __nv_bfloat16>};
  return kKernels;
}

}  // namespace titan::ops::cuda

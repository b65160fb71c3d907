#!/usr/bin/env bash
# Builds the ops with TITAN_CUDA against a LibTorch with CUDA (2.11 or later), runs their tests on the GPU and prints
# the times of fused regions.   scripts/gpu_check.sh [FOLDER for the table]
#   TITAN_TORCH_DIR   the LibTorch; default: that of this machine's python3
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-build/cuda}
export TITAN_TORCH_DIR=${TITAN_TORCH_DIR:-$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))')}
cmake --preset cuda
cmake --build --preset cuda --target titan_ops_test --parallel "$(nproc)"
mkdir -p "$out"
{
  nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader
  build/cuda/modules/ops/titan_ops_test --gtest_filter='*DeviceTest*'
} | tee "$out/gpu.txt"

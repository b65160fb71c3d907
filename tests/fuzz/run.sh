#!/usr/bin/env bash
# Builds the fuzz targets and runs each for SECONDS (default 60) from the seeds in tests/fuzz/seeds/NAME, under the address
# and undefined-behaviour sanitizers.   tests/fuzz/run.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
command -v clang++ >/dev/null || { echo "fuzz: install clang and its runtime (Debian: clang libclang-rt-14-dev)" >&2; exit 1; }
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --parallel "$(nproc)"
for target in safetensors jsonl tokenizer_json chat_template; do
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus"
  echo "fuzz: $target for $seconds s"
  build/fuzz/tests/fuzz/fuzz_$target -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
    -artifact_prefix="build/fuzz/$target-" -print_final_stats=1 "$corpus" "tests/fuzz/seeds/$target" 2>build/fuzz/$target.log ||
    { tail -40 build/fuzz/$target.log >&2; exit 1; }
  grep -E 'stat::(number_of_executed_units|average_exec_per_sec)' build/fuzz/$target.log
done

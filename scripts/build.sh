#!/usr/bin/env bash
# Set-up and build of one preset (default: release).   scripts/build.sh [PRESET] [TARGET ...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
scripts/setup.sh
mkdir -p build
cmake --preset "$preset" >"build/configure-$preset.log" 2>&1 || { cat "build/configure-$preset.log" >&2; exit 1; }
# One job a core, but at most one for each 2 GB of memory: LibTorch's headers are large.
jobs=$(nproc)
by_memory=$(($(awk '/^MemAvailable/{print $2}' /proc/meminfo) / 2000000))
[ "$by_memory" -ge "$jobs" ] || jobs=$((by_memory > 0 ? by_memory : 1))
cmake --build --preset "$preset" --parallel "$jobs" ${@:+--target "$@"}

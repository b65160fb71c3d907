#!/usr/bin/env bash
# Set-up, build and all tests but those labelled slow or reference.   scripts/test.sh [PRESET]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
scripts/build.sh "$preset"
ctest --preset "$preset"

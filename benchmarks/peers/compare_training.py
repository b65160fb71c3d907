#!/usr/bin/env python3
"""titan against TorchTitan and transformers: the same training steps on one machine, in turn, in one run.

Usage: compare_training.py [TITAN] [--steps N] [--rounds N]. Sets up the peers in a throw-away virtual environment on
the first run (about 7 GB beside the system's temporary files), runs every side `rounds` times in turn and prints the
medians and ratios. Nothing of the peers becomes part of titan.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
WORK = pathlib.Path(tempfile.gettempdir()) / "titan-peers"
PACKAGES = ["torch==2.15.0", "transformers==5.24.0", "datasets", "safetensors", "grain==0.2.18", "spmd_types==0.2.3",
            "tyro", "einops", "pillow", "tensorboard", "tokenizers", "fsspec"]
WITHOUT_DEPENDENCIES = ["torchtitan==0.3.0", "torch_checkpointing==0.1.1"]
CORPUS = ROOT / "data" / "corpus" / "train.jsonl"


def set_up():
    python = WORK / "venv" / "bin" / "python"
    if not (WORK / "ready").exists():
        WORK.mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(WORK / "venv")], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", *WITHOUT_DEPENDENCIES], check=True)
        assets = WORK / "torchtitan" / "tests" / "assets"
        (assets / "c4_test").mkdir(parents=True, exist_ok=True)
        (assets / "tokenizer").mkdir(exist_ok=True)
        (assets / "c4_test" / "data.json").write_text(CORPUS.read_text())
        for file in (ROOT / "data" / "tokenizers" / "debug").iterdir():
            (assets / "tokenizer" / file.name).write_bytes(file.read_bytes())
        (WORK / "ready").touch()
    return str(python)


def run(command):
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{result.stderr[-3000:]}")
    return result.stdout


def peer(command):
    return json.loads(run(command).strip().splitlines()[-1])


def titan_train(titan, steps, *arguments):
    """The figures of `titan bench train` by the names of its table."""
    values = {}
    for line in run([titan, "bench", "train", *arguments, "--steps", str(steps)]).splitlines():
        name, _, value = line.rpartition(" ")
        values[name.strip()] = value
    return {"tokens_per_second": float(values["tokens/s (median step)"]),
            "peak_rss_bytes": float(values["peak RSS, MB"]) * 1e6}


def compare(title, sides, rounds):
    """sides: name -> function that runs it once; the first is titan."""
    results = {name: [] for name in sides}
    for _ in range(rounds):
        for name, once in sides.items():
            results[name].append(once())
    medians = {name: {key: statistics.median(r[key] for r in runs) for key in ("tokens_per_second", "peak_rss_bytes")}
               for name, runs in results.items()}
    ours = next(iter(medians.values()))
    print(f"\n{title} ({rounds} rounds in turn, medians)")
    print(f"{'':<34}{'tokens/s':>10}{'titan is':>10}{'peak MB':>10}{'of it':>8}")
    for name, value in medians.items():
        print(f"{name:<34}{value['tokens_per_second']:>10.0f}"
              f"{ours['tokens_per_second'] / value['tokens_per_second']:>9.2f}x"
              f"{value['peak_rss_bytes'] / 1e6:>10.0f}{ours['peak_rss_bytes'] / value['peak_rss_bytes']:>8.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("titan", nargs="?", default=str(ROOT / "build" / "release" / "titan"))
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--smollm2", default=str(ROOT / "outputs" / "demo" / "smollm2"),
                        help="an imported SmolLM2-135M (scripts/demo.sh makes one)")
    arguments = parser.parse_args()
    python, steps, titan = set_up(), arguments.steps, arguments.titan
    debug = [python, str(HERE / "torchtitan_debug.py"), str(WORK / "torchtitan")]
    compare("llama3 debug model, 8 x 2048 tokens, bf16", {
        "titan": lambda: titan_train(titan, steps, "llama3_debug"),
        "TorchTitan 0.3.0 eager": lambda: peer([*debug, "eager", str(steps + 2)]),
        "TorchTitan 0.3.0 compiled": lambda: peer([*debug, "compiled", str(steps + 2)]),
    }, arguments.rounds)
    tune = [python, str(HERE / "transformers_finetune.py"), arguments.smollm2, str(CORPUS)]
    compare("SmolLM2-135M full fine-tuning, 4 x 512 tokens, bf16", {
        "titan": lambda: titan_train(titan, steps, "smollm2_finetune", f"model.path={arguments.smollm2}"),
        "titan, nothing recomputed": lambda: titan_train(
            titan, steps, "smollm2_finetune", f"model.path={arguments.smollm2}", "remat.mode=none"),
        "transformers 5.24.0 autocast": lambda: peer([*tune, "autocast", str(steps + 2)]),
        "transformers 5.24.0 pure bf16": lambda: peer([*tune, "bf16", str(steps + 2)]),
    }, arguments.rounds)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""An exported folder loads in transformers and gives the logits that titan gives.

Usage: transformers_loads_export.py TITAN FIXTURE... Installs torch, transformers and safetensors into a throw-away
virtual environment on its first run (kept beside the system's temporary files) and runs itself there.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PACKAGES = ["torch==2.15.0", "transformers==5.24.0", "safetensors", "numpy"]
ATOL = 1e-4


def enter_environment():
    folder = pathlib.Path(tempfile.gettempdir()) / "titan-reference-venv"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (folder / "ready").touch()
    os.execv(str(python), [str(python), *sys.argv])


def compare(titan, fixture, work):
    import torch
    import transformers
    from safetensors.torch import load_file
    export = work / (fixture.parent.name + "-export")
    subprocess.run([titan, "export", str(fixture), str(export), "--dtype", "fp32"], check=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(str(export), dtype=torch.float32)
    ids = torch.randint(0, model.config.vocab_size, (1, 50), generator=torch.Generator().manual_seed(3))
    tokens, scores = work / "tokens.json", work / "scores.safetensors"
    tokens.write_text(json.dumps({"documents": ids.tolist()}))
    subprocess.run([titan, "score", str(export), "--tokens", str(tokens), "--out", str(scores)], check=True)
    with torch.no_grad():
        theirs = model(ids).logits[0]
    difference = (load_file(str(scores))["logits.0"] - theirs).abs().max().item()
    print(f"{fixture.parent.name}: largest difference of logits {difference:.2e} (at most {ATOL})")
    return difference <= ATOL


def main():
    try:
        import transformers  # noqa: F401
    except ImportError:
        enter_environment()
    titan, fixtures = sys.argv[1], [pathlib.Path(name) for name in sys.argv[2:]]
    with tempfile.TemporaryDirectory() as work:
        results = [compare(titan, fixture, pathlib.Path(work)) for fixture in fixtures]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

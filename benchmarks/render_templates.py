#!/usr/bin/env python3
"""Rendering of real chat templates against jinja2, in one run and on one thread.

Usage: render_templates.py RENDER_TEMPLATE (build/release/tests/titan_render_template). Fetches what
tests/reference/templates.py fetches. Both sides compile a template once and render conversations of several lengths
from values in memory, of which the fastest of many rounds counts; titan's time includes the conversion of the JSON to
its values. Prints a table and the ratios.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/reference"))
import templates as collection  # noqa: E402

NAMES = ["Qwen-Qwen3-0.6B", "Qwen3-Coder", "meta-llama-Llama-3.1-8B-Instruct", "mistralai-Mistral-Nemo-Instruct-2407",
         "deepseek-ai-DeepSeek-V3.1", "moonshotai-Kimi-K2", "openai-gpt-oss-120b", "google-gemma-2-2b-it", "GLM-4.6"]
TURNS = (1, 8, 64)
ROUNDS = 200


def conversation(turns, tools):
    messages = []
    for i in range(turns):
        messages.append({"role": "user", "content": f"Question {i}: " + "What is the answer to this? " * 8})
        messages.append({"role": "assistant", "content": f"Answer {i}: " + "It is a long story about that. " * 20})
    messages.append({"role": "user", "content": "And the last one?"})
    return {"messages": messages, "tools": tools, "add_generation_prompt": True, "bos_token": "<s>",
            "eos_token": "</s>", "builtin_tools": None}


def time_jinja2(template, variables):
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        template.render(**variables)
        best = min(best, time.perf_counter() - start)
    return best


def time_titan(program, path, variables, work):
    job, result = work / "job.json", work / "result.json"
    job.write_text(json.dumps({"name": path.name, "template": path.read_text(encoding="utf-8"), "cases": [variables]}))
    subprocess.run([program, str(job), str(result), str(ROUNDS)], check=True)
    return json.loads(result.read_text(encoding="utf-8"))["seconds"]


def main():
    paths = {path.stem: path for path in collection.enter_environment()}
    from conversations import TOOLS
    from jinja_reference import make_environment
    ratios = []
    print(f"{'template':40} {'turns':>5} {'tools':>5} {'jinja2 us':>10} {'titan us':>9} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as work:
        for name in NAMES:
            template = make_environment().from_string(paths[name].read_text(encoding="utf-8"))
            for turns in TURNS:
                for tools in (None, TOOLS):
                    variables = conversation(turns, tools)
                    theirs = time_jinja2(template, variables)
                    ours = time_titan(sys.argv[1], paths[name], variables, pathlib.Path(work))
                    ratios.append(theirs / ours)
                    print(f"{name:40} {turns:5} {'yes' if tools else 'no':>5} {theirs * 1e6:10.1f} {ours * 1e6:9.1f} "
                          f"{ratios[-1]:6.1f}")
    print(f"ratio: least {min(ratios):.1f}, median {statistics.median(ratios):.1f}, most {max(ratios):.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

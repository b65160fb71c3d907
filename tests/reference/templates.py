#!/usr/bin/env python3
"""Every real chat template of llama.cpp's collection renders as in jinja2, and bridges as it renders.

Usage: templates.py RENDER_TEMPLATE CHECK_CONVERSATIONS. Fetches the source package of llama-cpp-python, which holds the collection, and
jinja2 into a throw-away environment on its first run (kept beside the system's temporary files) and runs itself there.
A template that titan refuses must stand in docs/chat_templates.md by its name.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

PACKAGES = ["jinja2==3.1.6"]
COLLECTION = "llama-cpp-python==0.3.36"
INSIDE = "/vendor/llama.cpp/models/templates/"
# Tokens that a template spells, and those of them that its model ends a turn with.
CONTROL = re.compile(
    r"<\|[A-Za-z0-9_:/-]{1,40}\|>|<｜[^｜<>\s]{1,40}｜>|\[/?[A-Z_]{3,30}\]|</?[a-z_]{3,30}>|<\|[a-z_]+>|<[a-z_]+\|>"
    r"|\]~!b\[|\[e~\[|\]~b\]|<seed:eos>|<SPECIAL_12>")
TURN_ENDS = {
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|eom|>", "<|end|>", "<|return|>", "<|call|>",
    "<|end_of_turn|>", "<end_of_turn>", "<turn|>", "[e~[", "<｜end▁of▁sentence｜>", "<|END_OF_TURN_TOKEN|>",
    "<|assistant_end|>", "<|end_of_msg|>", "<|message_sep|>", "<end_of_sentence>", "<|end_of_text|>", "<seed:eos>",
    "<SPECIAL_12>", "<sep>", "</s>"}
GLM_TURN_ENDS = {"<|user|>", "<|observation|>"}
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/chat_templates.md"


def enter_environment():
    folder = pathlib.Path(tempfile.gettempdir()) / "titan-template-venv"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        subprocess.run([str(python), "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary",
                        "llama-cpp-python", "--dest", str(folder), COLLECTION], check=True)
        archive, = folder.glob("llama_cpp_python-*.tar.gz")
        (folder / "templates").mkdir(exist_ok=True)
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                if INSIDE in member.name and member.name.endswith(".jinja"):
                    text = tar.extractfile(member).read()
                    (folder / "templates" / pathlib.Path(member.name).name).write_bytes(text)
        archive.unlink()
        (folder / "ready").touch()
    if pathlib.Path(sys.prefix).resolve() != folder.resolve():
        os.execv(str(python), [str(python), *sys.argv])
    return sorted((folder / "templates").glob("*.jinja"))


def titan_results(program, path, cases, work):
    from jinja_reference import TIME
    job, result = work / "job.json", work / "result.json"
    job.write_text(json.dumps({"name": path.name, "template": path.read_text(encoding="utf-8"),
                               "time": TIME, "cases": cases}), encoding="utf-8")
    subprocess.run([program, str(job), str(result)], check=True)
    return json.loads(result.read_text(encoding="utf-8"))


def compare(program, path, work, documented):
    """(number of equal renderings, problems)"""
    from conversations import all_variables
    from jinja_reference import make_environment, render
    labels, cases = zip(*all_variables())
    ours = titan_results(program, path, cases, work)
    if "refused" in ours:
        known = path.name in documented
        print(f"{path.name}: refused{'' if known else ' and not in the docs'}: {ours['refused']}")
        return 0, 0 if known else 1
    try:
        template = make_environment().from_string(path.read_text(encoding="utf-8"))
    except Exception as error:  # noqa: BLE001
        print(f"{path.name}: jinja2 does not compile it: {error}")
        return 0, 1
    equal = problems = texts = 0
    for label, variables, mine in zip(labels, cases, ours["results"]):
        theirs = render(template, variables)
        if mine.get("text") == theirs.get("text"):
            equal += 1
            texts += "text" in mine
            continue
        problems += 1
        if problems <= 3:
            print(f"{path.name}: {label}:\n  titan  {mine}\n  jinja2 {theirs}")
    print(f"{path.name}: {equal} equal ({texts} texts, {equal - texts} both refuse), {problems} differ")
    return equal, problems


def check_conversations(program, path, work):
    """The outcome of bridging after a user's and a tool's message, and the problems."""
    tokens, result = work / "tokens.json", work / "conversations.json"
    control = set(CONTROL.findall(path.read_text(encoding="utf-8"))) | {"<s>", "</s>"}
    ends = control & (TURN_ENDS | (GLM_TURN_ENDS if path.name.startswith("GLM") else set()))
    tokens.write_text(json.dumps({"control": sorted(control), "ends": sorted(ends), "bos": "<s>", "eos": "</s>"}))
    subprocess.run([program, str(path), str(tokens), str(result)], check=True)
    report = json.loads(result.read_text(encoding="utf-8"))
    problems = 0
    for kind in ("user", "tool"):
        print(f"{path.name}: after a {kind}'s message: {report[kind][:160]}")
        problems += report[kind].startswith("differs")
    return [report[kind].split(":")[0] for kind in ("user", "tool")], problems


def main():
    templates = enter_environment()
    documented = DOCS.read_text(encoding="utf-8") if DOCS.exists() else ""
    with tempfile.TemporaryDirectory() as work:
        results = [compare(sys.argv[1], path, pathlib.Path(work), documented) for path in templates]
        bridges = [check_conversations(sys.argv[2], path, pathlib.Path(work)) for path in templates]
    equal, problems = map(sum, zip(*results))
    print(f"{len(templates)} templates, {equal} renderings equal, {problems} problems")
    outcomes = collections.Counter(outcome for pair, _ in bridges for outcome in pair)
    print("bridges: " + ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    return 1 if problems or sum(count for _, count in bridges) else 0


if __name__ == "__main__":
    sys.exit(main())

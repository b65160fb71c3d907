#!/usr/bin/env python3
"""Checks the project's shape: which module may include which, and how long files and functions are.

Usage: check_layers.py ROOT. Prints every violation, exits with 1 when there is one.
"""
import pathlib
import re
import statistics
import sys

# Low to high; modules of one tuple are siblings and do not see each other.
ORDER = [("base",), ("config", "observe", "text"), ("dist",), ("ops",), ("nn",), ("parallel",),
         ("data", "optim", "checkpoint"), ("models",), ("train", "generate"), ("rl", "serve"),
         ("recipes",), ("cli",)]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
# Narrower than the rank allows.
FORBIDDEN = {"ops": {"config"}, "data": {"ops", "nn", "parallel"},
             "models": {"data", "optim", "text"}, "generate": {"data", "optim"},
             "serve": {"train", "data", "optim"}}
MAX_FILE = {".h": 600, ".cpp": 600, ".cu": 800, ".cuh": 800}
MAX_FUNCTION = 80
MAX_KERNEL_FUNCTION = 150
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def module_of(path):
    """The module that a path below the root belongs to, or None."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[0] == "titan" and len(parts) > 2:
        return parts[1]
    return parts[0] if parts[0] in ("recipes", "cli") else None


def family_of(path):
    """The model family of a path, or None for common code."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[:2] == ("titan", "models") and len(parts) > 3 and parts[2] != "common":
        return parts[2]
    return None


def edge_problem(source, target):
    """Why `source` may not include `target`, or None."""
    a, b = module_of(source), module_of(target)
    if a is None or b is None:
        return None
    if a not in RANK or b not in RANK:
        return f"unknown module {a if a not in RANK else b}"
    if a == b:
        test_of_all = source.startswith("titan/models/") and source.count("/") == 2
        if family_of(target) not in (None, family_of(source)) and not test_of_all:
            return f"models/{family_of(target)} is seen from outside of its family"
        return None
    if RANK[b] >= RANK[a] or b in FORBIDDEN.get(a, ()):
        return f"{a} must not include {b}"
    return None


def without_raw_strings(text):
    """The text with raw string literals as empty lines: their braces are not code."""
    return re.sub(r'R"([^()\\\s]{0,16})\((.*?)\)\1"', lambda match: "\n" * match[2].count("\n"), text, flags=re.S)


def long_functions(lines, limit):
    """(line, length) of brace blocks at namespace or class level that are longer than limit."""
    depth_at = []  # for every open brace: (line, opens a namespace, class or similar)
    found = []
    statement = ""
    for number, line in enumerate(lines, 1):
        code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|//.*', "", line)
        for character in code:
            if character == "{":
                scope = re.search(r"\b(namespace|class|struct|union|enum|extern)\b[^()]*$", statement)
                inside_function = any(not is_scope for _, is_scope in depth_at)
                depth_at.append((number, bool(scope) and not inside_function))
                statement = ""
            elif character == "}":
                if depth_at:
                    start, is_scope = depth_at.pop()
                    outermost = all(is_outer for _, is_outer in depth_at)
                    if not is_scope and outermost and number - start + 1 > limit:
                        found.append((start, number - start + 1))
                statement = ""
            elif character == ";":
                statement = ""
            else:
                statement += character
        statement += " "
    return found


def check(root):
    problems = []
    sizes = []
    for folder in ("titan", "recipes", "cli", "examples", "tests", "benchmarks"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in MAX_FILE:
                continue
            name = path.relative_to(root).as_posix()
            lines = path.read_text(encoding="utf-8").splitlines()
            sizes.append(len(lines))
            if len(lines) > MAX_FILE[path.suffix]:
                problems.append(f"{name}: {len(lines)} lines, at most {MAX_FILE[path.suffix]}")
            kernel = "/cpu/" in name or "/cuda/" in name
            limit = MAX_KERNEL_FUNCTION if kernel else MAX_FUNCTION
            for line, length in long_functions(without_raw_strings("\n".join(lines)).splitlines(), limit):
                problems.append(f"{name}:{line}: a function of {length} lines, at most {limit}")
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                problem = match and edge_problem(name, match.group(1))
                if problem:
                    problems.append(f"{name}:{number}: {problem} ({match.group(1)})")
    return problems, sizes


def main():
    problems, sizes = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems))
    print(f"{len(sizes)} files, median {statistics.median(sizes):.0f} lines, "
          f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

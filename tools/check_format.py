#!/usr/bin/env python3
"""Checks that every C++ file is formatted as .clang-format says.

Usage: check_format.py ROOT [--fix]. Prints the files that are not, exits with 1 when there is one.
"""
import concurrent.futures
import pathlib
import subprocess
import sys

FOLDERS = ("titan", "recipes", "cli", "examples", "tests", "benchmarks", "cmake")


def badly_formatted(path):
    text = path.read_bytes()
    wanted = subprocess.run(["clang-format", str(path)], capture_output=True, check=True).stdout
    return text != wanted


def main():
    root = pathlib.Path(sys.argv[1])
    files = [path for folder in FOLDERS for suffix in ("h", "cpp")
             for path in sorted((root / folder).rglob(f"*.{suffix}"))]
    if "--fix" in sys.argv[2:]:
        subprocess.run(["clang-format", "-i", *map(str, files)], check=True)
        return 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        bad = [path for path, is_bad in zip(files, pool.map(badly_formatted, files)) if is_bad]
    for path in bad:
        print(f"{path.relative_to(root)}: run tools/check_format.py . --fix")
    print(f"{len(files)} files, {len(bad)} not formatted")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

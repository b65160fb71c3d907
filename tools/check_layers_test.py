#!/usr/bin/env python3
"""Tests of check_layers.py on small trees."""
import pathlib
import tempfile
import unittest

import check_layers


def problems_of(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return check_layers.check(root)[0]


class CheckLayers(unittest.TestCase):
    def test_downward_edges_pass(self):
        self.assertEqual(problems_of({
            "titan/nn/a.cpp": '#include "titan/ops/linear.h"\n#include "titan/nn/b.h"\n',
            "cli/main.cpp": '#include "titan/train/trainer.h"\n#include "recipes/assets.h"\n'}), [])

    def test_upward_sibling_and_forbidden_edges_fail(self):
        for source, target in [("titan/ops/a.h", "titan/nn/linear.h"),
                               ("titan/data/a.h", "titan/optim/adamw.h"),
                               ("titan/models/common/a.h", "titan/text/tokenizer.h"),
                               ("titan/generate/a.h", "titan/data/loader.h"),
                               ("titan/train/a.h", "recipes/assets.h")]:
            self.assertEqual(len(problems_of({source: f'#include "{target}"\n'})), 1, source)

    def test_families_do_not_see_each_other(self):
        self.assertEqual(len(problems_of(
            {"titan/models/qwen3/a.cpp": '#include "titan/models/llama3/config.h"\n'})), 1)
        self.assertEqual(problems_of(
            {"titan/models/qwen3/a.cpp": '#include "titan/models/common/dense.h"\n'}), [])

    def test_braces_in_raw_strings_are_not_code(self):
        text = "int f() {\n  g(R\"x({{ %s)x\");\n}\n" % ("\n" * 20)
        self.assertEqual(problems_of({"titan/nn/a.cpp": text * 10}), [])

    def test_long_files_and_functions_fail(self):
        body = "  x();\n" * 90
        self.assertEqual(len(problems_of({"titan/nn/a.cpp": f"void f() {{\n{body}}}\n"})), 1)
        self.assertEqual(problems_of({"titan/nn/a.cpp": f"namespace a {{\nint x;\n{'' * 90}}}\n"}), [])
        self.assertEqual(problems_of({"titan/ops/cpu/a.cpp": f"void f() {{\n{body}}}\n"}), [])
        member = f"class A {{\n  void f() {{\n{body}  }}\n}};\n"
        self.assertEqual(len(problems_of({"titan/nn/a.cpp": member})), 1)
        self.assertEqual(len(problems_of({"titan/nn/a.cpp": "int x;\n" * 601})), 1)


if __name__ == "__main__":
    unittest.main()

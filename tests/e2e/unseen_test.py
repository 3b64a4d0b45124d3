#!/usr/bin/env python3
"""The line shapes of tests/data/unseen.jsonl and unseen_2.jsonl: written from public issue threads and
documentation, each set by somebody who had not seen the rules. Every value comes out, counted as
formats_test.py counts.
"""
import json
import os
import sys
import tempfile
import unittest

from formats_test import check
from harness import ROOT


class Unseen(unittest.TestCase):
    def every_value(self, name, at_least):
        total, wrong = 0, []
        with open(os.path.join(ROOT, "tests/data", name), encoding="utf-8") as file:
            shapes = [json.loads(line) for line in file if line.strip()]
        with tempfile.TemporaryDirectory(prefix="lgr-unseen-") as top:
            for number, shape in enumerate(shapes):
                count, bad = check(shape, os.path.join(top, f"s{number:03}"))
                total += count
                wrong += [(shape["id"], *item) for item in bad]
        for shape, text, key, wanted, line in wrong:
            print(f"{shape}: {key} should be {wanted!r}\n    of {text!r}\n    got {json.dumps(line)[:700]}")
        print(f"{total - len(wrong)} of {total} values of {len(shapes)} shapes of {name}")
        self.assertGreater(total, at_least)
        self.assertEqual(len(wrong), 0, f"{len(wrong)} of {total} values are wrong")

    def test_every_expected_value_of_the_first_set_comes_out(self):
        self.every_value("unseen.jsonl", 500)

    def test_every_expected_value_of_the_second_set_comes_out(self):
        self.every_value("unseen_2.jsonl", 400)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)

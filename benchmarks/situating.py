"""What situating the passages of a long document costs, and what a model sees of it.

    python benchmarks/situating.py FILE [FILE …]

Takes the long documents among text files and ``documents.jsonl`` of data sets, and builds the
prompts that situate their passages with the document shown whole, and as an outline with stretches
of several sizes. In full-price tokens a passage, for providers whose cached input costs the same, a
half, a quarter and a tenth, with a cache as OpenAI's. What is left to see: of names that a passage
gives in short (*Scrooge*) and the rest of the document in full (*Ebenezer Scrooge*), the share
whose full form is shown; also without the list of names. Then, by the length of a document, which
of the two is cheaper. No model is called.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from unittest import mock

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
django.setup()

from ingestion.extractors import situating_excerpts
from ingestion.extractors.situating_excerpts import GAP, Excerpt, PromptTokens, prompt_tokens
from ingestion.stages.situate import PROMPT
from kb_project.llm.config import ChatConfig
from kb_project.llm.ports import Role
from kb_project.llm.tokens import count_tokens, token_starts
from kb_project.prompt import fenced, load
from tests.prompt_cache import PromptCache

PASSAGE: Final = 700
"""Tokens of a passage, as sentences fill the usual 800."""
LIMIT: Final = ChatConfig("", "", context_window=200_000).input_limit(Role.SITUATE)
WHOLE: Final = "whole"
STRETCHES: Final = (0, 1_200, 2_400, 4_800, 9_600)
SHARES: Final = (1.0, 0.5, 0.25, 0.1)
LENGTHS: Final = (2_000, 4_000, 6_000, 8_000, 12_000, 16_000, 24_000, 48_000)
FULL: Final = re.compile(r"\b[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})+\b")
SHORT: Final = re.compile(r"(?<![A-Z][a-z] )\b[A-Z][a-z]{2,}\b")


def main() -> None:
    parser = argparse.ArgumentParser(description="What situating long documents costs.")
    parser.add_argument("files", type=Path, nargs="+")
    texts = [text for path in parser.parse_args().files for text in texts_in(path)]
    long = [text for text in texts if count_tokens(text) > situating_excerpts.WHOLE]
    print(f"{len(long)} documents, {sum(map(count_tokens, long)):,} tokens")
    print(
        f"{'shown':<16}{'tokens':>8}{'cached':>8}" + "".join(f"{s:>8}" for s in SHARES) + "   full"
    )
    for shown in (WHOLE, *STRETCHES):
        print(line(shown, long))
    with mock.patch.object(situating_excerpts, "NAMES", 0):
        print("without names:\n" + line(situating_excerpts.NEAR, long))
    print(f"\n{'length':<8}{'shown':<10}" + "".join(f"{share:>8}" for share in SHARES))
    for length in LENGTHS:
        for is_whole in (True, False):
            print(by_length(length, is_whole=is_whole))


def texts_in(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".jsonl":
        return [text]
    return [str(json.loads(line)["text"]) for line in text.splitlines()]


def line(shown: str | int, texts: Sequence[str]) -> str:
    sent = cached = passages = told = named = 0
    for text in texts:
        spans = spans_of(text)
        excerpts = excerpts_of(text, spans, shown)
        counts = in_fact(text, spans, excerpts)
        sent, cached, passages = sent + counts.sent, cached + counts.cached, passages + len(spans)
        for is_told in names(text, spans, excerpts):
            told, named = told + is_told, named + 1
    each, again = sent / passages, cached / passages
    costs = "".join(f"{each - again * (1 - share):>8,.0f}" for share in SHARES)
    name = shown if shown == WHOLE else f"outline + {shown:,}"
    return f"{name:<16}{each:>8,.0f}{again:>8,.0f}{costs}{told / max(1, named):>7.3f} of {named:,}"


def spans_of(text: str) -> list[tuple[int, int]]:
    starts = [int(start) for start in token_starts(text)[::PASSAGE]]
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


def excerpts_of(text: str, spans: Sequence[tuple[int, int]], shown: str | int) -> list[Excerpt]:
    if isinstance(shown, str):
        return [Excerpt(text)] * len(spans)
    with mock.patch.object(situating_excerpts, "NEAR", max(1, shown)):
        found = situating_excerpts.excerpts(text, spans, title="", headings=[], limit=LIMIT)
    return found if shown else [Excerpt(excerpt.common) for excerpt in found]


def in_fact(
    text: str, spans: Sequence[tuple[int, int]], excerpts: Sequence[Excerpt]
) -> PromptTokens:
    """The tokens of the prompts, sent one after another."""
    cache, sent, cached = PromptCache(), 0, 0
    for (start, end), excerpt in zip(spans, excerpts, strict=True):
        document = fenced(excerpt.common + excerpt.near, "document")
        prompt = load(PROMPT).fill(document=document, chunk=fenced(text[start:end]))
        whole = f"{prompt.system}\n{prompt.user}"
        usage = cache.read(whole)
        sent += usage["prompt_tokens"]
        cached += usage["prompt_tokens_details"]["cached_tokens"]
    return PromptTokens(sent, cached)


def names(
    text: str, spans: Sequence[tuple[int, int]], excerpts: Sequence[Excerpt]
) -> Iterator[bool]:
    """Of each name that a passage gives in short, whether its full form is shown."""
    longer: dict[str, set[str]] = {}
    for full in set(FULL.findall(text)):
        for word in full.split():
            longer.setdefault(word, set()).add(full)
    for (start, end), excerpt in zip(spans, excerpts, strict=True):
        passage, shown = text[start:end], excerpt.common + GAP + excerpt.near
        for word in sorted(set(SHORT.findall(passage)) & longer.keys()):
            fulls = longer[word]
            if not any(full in passage for full in fulls):
                yield any(full in shown for full in fulls)


def by_length(length: int, *, is_whole: bool) -> str:
    passages = length / PASSAGE
    threshold = length if is_whole else 0
    with mock.patch.object(situating_excerpts, "WHOLE", threshold):
        found = prompt_tokens(length, passages, limit=LIMIT)
    costs = [(found.sent - found.cached * (1 - share)) / passages for share in SHARES]
    name = WHOLE if is_whole else "outline"
    return f"{length:<8,}{name:<10}" + "".join(f"{cost:>8,.0f}" for cost in costs)


if __name__ == "__main__":
    main()

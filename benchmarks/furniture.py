"""Count page furniture in the text that the product writes without a model.

    python benchmarks/furniture.py SLUG [benchmarks/results/answers-NAME.jsonl]

Searches a workspace's topic summaries and reports, tree summaries and entity descriptions, and all
answers of a file if one is given, for navigation links, lines of contents lists, licence text and
code. Uses patterns of its own, not the regions that the document reader finds. Prints every
sentence found and its location.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import django
import regex

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from ingestion.models import CommunityReport, Entity, Finding, SummaryNode
from kb_project.text.sentences import sentence_spans
from workspaces import access
from workspaces.models import Workspace

Said = tuple[str, str, str]
"""The kind of text, its location, and one sentence of it."""

# Prose never has these, however long; a single "->" or a file name in a sentence is not code.
SIGNS: Final = {
    "navigation": regex.compile(
        r"""(?ix) (?:^|\W)prev(?:ious)?\W+(?:up|home|next)\b | \bnext\W+(?:prev|home|up)\b
        | (?:^|\s)(?:prev|next)\d | \bskip\s+to\s+(?:main\s+)?content | ^\W*(?:prev|next|home)\W*$
        | \bdownload\s+the\s+ebook\b | ^(?:[^|]{1,30}\|){3} | (?:›|»|\s/\s)(?:[^›»]{1,30}[›»]){2}"""
    ),
    "contents": regex.compile(
        r"""(?x) (?:\.\s?){5,}\s*\d* | …\s*\d{1,4}\b | ^\W*(?i:(?:table\s+of\s+)?contents)\W*$
        | ^(?:\W*\d{1,2}\.\d{1,2}\.?\s+\p{Lu}[^.!?]{3,60}){2} | ^\W*(?i:chapter)\s+\d+\W*$
        | (?:(?:^|\s)\d{1,2}\s\p{Lu}[\p{L}\s]{3,60}\s\d{1,3}){2}"""
    ),
    "licence": regex.compile(
        r"""(?ix) project\s+gutenberg | \ball\s+rights\s+reserved\b
        | \bcopyright\s+(?:©|\(c\)|\d{4}) | ©\s*\d{4} | \bpermission\s+is\s+(?:hereby\s+)?granted\b
        | \bwithout\s+warrant(?:y|ies)\b
        | \bimplied\s+warrant | \bpublic\s+license\s+as\s+published\b | \bmerchantab
        | \bredistributions?\s+(?:of|in)\s+(?:source|binary)\b | \bfor\s+the\s+use\s+of\s+anyone\b
        | \bcopied\s+and\s+distributed\s+under\b"""
    ),
    "code": regex.compile(
        r"""(?x) ^\s*(?:\$|\#|>{1,3})\s+\S | \S@\S+:\S*[$\#]\s | ^\s*(?:sudo|cd|ls|cat)\s+[-/.~$]
        | \w\(\)\s*\{ | ^\s*\#include\b | <\w+\s+\w+=[^>]*>[^<]*</ | ^\s*(?:if|while)\s*\(
        | [{}]\s*$ | ^(?:\S+\s+){0,11}\S*(?:[)\]"']|=[^;]*)\s*;\s*$ | \b(?:def|printf)\s?\w*\(["\w]
        | ^[\w.-]+\s*[:?+]?=\s*\S+$ | ^[d-][rwx-]{9}\s"""
    ),
}


def kinds_of(sentence: str) -> list[str]:
    """Return the kinds of furniture a sentence looks like.

    >>> kinds_of("Prev Home Next"), kinds_of("6.5 The archives . . . . . . . 31")
    (['navigation'], ['contents'])
    >>> kinds_of("$ sudo apt-get update"), kinds_of("Ada lit the lamp in 1911.")
    (['code'], [])
    """
    return [kind for kind, sign in SIGNS.items() if sign.search(sentence)]


def sentences(text: str) -> Iterator[str]:
    for start, end in sentence_spans(text):
        yield " ".join(text[start:end].split())


def said_in(workspace: Workspace) -> Iterator[Said]:
    """Yield the sentences that no model wrote."""
    with access.in_workspace(workspace.pk):
        reports = CommunityReport.objects.in_workspace(workspace).filter(written_by="extractive")
        for title, summary in reports.values_list("title", "summary"):
            yield "title", title, title
            yield from (("topic summary", title, one) for one in sentences(summary))
        findings = Finding.objects.in_workspace(workspace).filter(
            report__written_by="extractive", part=Finding.Part.FINDING
        )
        for title, text in findings.values_list("report__title", "summary"):
            yield "finding", title, text
        nodes = SummaryNode.objects.in_workspace(workspace).filter(written_by="extractive")
        for document, text in nodes.values_list("document__title", "text"):
            place = document or "all documents"
            yield from (("tree summary", place, one) for one in sentences(text))
        entities = Entity.objects.in_workspace(workspace).filter(written_by="extractive")
        for name, text in entities.values_list("name", "description"):
            yield from (("entity", name, one) for one in sentences(text))


def answered(path: Path) -> Iterator[Said]:
    for line in path.read_text(encoding="utf-8").splitlines():
        answer = json.loads(line)
        for one in answer["sentences"]:
            yield "answer", str(answer["id"]), " ".join(one.split())


def main() -> None:
    parser = argparse.ArgumentParser(description="Furniture in what is said.")
    parser.add_argument("slug", help="of the workspace")
    parser.add_argument("answers", nargs="?", type=Path, help="of benchmarks/answers.py")
    options = parser.parse_args()
    said = list(said_in(Workspace.objects.get(slug=options.slug)))
    said += answered(options.answers) if options.answers else []
    found = [(kind, *one) for one in said for kind in kinds_of(one[2])]
    for kind, what, where, sentence in found:
        print(f"{kind:10} {what}, {where}: {sentence}")
    looked_at = Counter(what for what, _, _ in said)
    bad = Counter(what for _, what, _, _ in found)
    for what, number in sorted(looked_at.items()):
        print(f"{what}: {bad[what]} of {number}")
    print(f"all: {len({one[1:] for one in found})} of {len(said)}")


if __name__ == "__main__":
    main()

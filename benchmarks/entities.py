"""Print a random sample of the listed entities, to be judged by a person.

    python benchmarks/entities.py DATASET_DIR [--keep SLUG] [--count 200] [--seed 7]

Loads the folder into a workspace as ``answers.py`` does. Prints tab-separated name, type, number of
mentions, and the words around the first mention; then how many entities and terms there are and how
many merge suggestions are open. A person judges whether each is a name, and of the right type.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from answers import filled

from ingestion.knowledge import queries as knowledge_queries
from ingestion.models import Entity, Mention, MergeSuggestion
from workspaces import access
from workspaces.models import Workspace

AROUND: Final = 60
"""Characters shown on each side of a name."""


def sampled(workspace: Workspace, count: int, seed: int) -> list[Entity]:
    rows = list(knowledge_queries.entities(workspace=workspace).order_by("key", "sense"))
    return random.Random(seed).sample(rows, min(count, len(rows)))


def described(workspace: Workspace, entities: Sequence[Entity]) -> Iterator[str]:
    for entity in entities:
        first = (
            Mention.objects.in_workspace(workspace)
            .filter(entity=entity)
            .select_related("chunk")
            .order_by("document_id", "start")
            .first()
        )
        context = ""
        if first is not None:
            start, end = first.start - first.chunk.start, first.end - first.chunk.start
            context = first.chunk.text[max(0, start - AROUND) : end + AROUND]
        columns = (entity.name, entity.type, str(entity.mention_count), " ".join(context.split()))
        yield "\t".join(columns)


def counted(workspace: Workspace) -> str:
    listed = knowledge_queries.entities(workspace=workspace).count()
    terms = knowledge_queries.terms_count(workspace=workspace)
    suggestions = MergeSuggestion.objects.in_workspace(workspace)
    is_open = suggestions.filter(state=MergeSuggestion.State.OPEN).count()
    return f"{listed} entities listed, {terms} terms hidden, {is_open} suggestions open"


def main() -> None:
    parser = argparse.ArgumentParser(description="A sample of entities, to be judged by reading.")
    parser.add_argument("dataset", type=Path, help="a folder with documents and questions")
    parser.add_argument("--keep", default="", metavar="SLUG", help="keep the workspace so named")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    folder = options.dataset.resolve()
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    with (
        filled(folder, [json.loads(line) for line in lines], options.keep) as workspace,
        access.in_workspace(workspace.pk),
    ):
        for line in described(workspace, sampled(workspace, options.count, options.seed)):
            print(line)
        print(counted(workspace))


if __name__ == "__main__":
    main()

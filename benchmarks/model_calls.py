"""How many calls and tokens a document costs on the model tier, as the ledger has them.

    python benchmarks/model_calls.py FILE [FILE …]

Ingests the files (or the first documents of a data set's folder) into a workspace that is thrown
away, with a stub for the chat model; prints the calls of each stage beside the most there may be;
then forgets the documents and ingests them again, which has to cost nothing. A stub that always
finds something at first and nothing in a gleaning stands for the model, so counts are those of a
real model with the same manners; tokens of answers are the stub's.
"""

from __future__ import annotations

import argparse
import io
import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import model_overhead as overhead  # sets Django up, with the embedder that hashes words

from ingestion import services
from ingestion.models import Chunk, CommunityReport, Document, Entity, SummaryNode
from retrieval.evaluation import dataset, throwaway
from workspaces import access
from workspaces import services as workspaces
from workspaces.models import ModelCall, Workspace

MOST: Final = 100


@dataclass(frozen=True)
class Run:
    """One ingest: calls made and taken from the cache, and tokens of those made, by stage."""

    made: Counter[str]
    cached: Counter[str]
    prompt_tokens: Counter[str]
    completion_tokens: Counter[str]


def ingest(workspace: Workspace, files: list[Path]) -> Run:
    with access.in_workspace(workspace.pk):
        known = set(ModelCall.objects.in_workspace(workspace).values_list("pk", flat=True))
        for title, content in contents(files):
            services.document_add(
                workspace=workspace, name=f"{title}.txt", title=title, content=content
            )
    services.process_workspace(workspace=workspace)
    with access.in_workspace(workspace.pk):
        calls = ModelCall.objects.in_workspace(workspace).exclude(pk__in=known)
        return tally(list(calls))


def contents(files: list[Path]) -> Iterator[tuple[str, IO[bytes]]]:
    """Title and text of each document; a folder is a data set of which a few are enough."""
    for path in files:
        if path.is_dir():
            for document in dataset.load(path).documents[:MOST]:
                yield document.title, io.BytesIO(document.text.encode())
        else:
            yield path.stem, io.BytesIO(path.read_bytes())


def tally(calls: list[ModelCall]) -> Run:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for call in calls:
        counts[call.state][call.stage] += 1
        if call.state == ModelCall.State.DONE:
            counts["prompt"][call.stage] += call.prompt_tokens
            counts["completion"][call.stage] += call.completion_tokens
    return Run(
        counts[ModelCall.State.DONE],
        counts[ModelCall.State.CACHED],
        counts["prompt"],
        counts["completion"],
    )


def forget(workspace: Workspace) -> None:
    with access.in_workspace(workspace.pk):
        Document.objects.in_workspace(workspace).delete()


def promised(workspace: Workspace, gleanings: int) -> dict[str, int]:
    """The most calls each stage may make."""
    with access.in_workspace(workspace.pk):
        chunks = Chunk.objects.in_workspace(workspace).count()
        return {
            "situate": chunks,
            "extract": chunks * (1 + gleanings),
            "describe": Entity.objects.in_workspace(workspace).count(),
            "reports": CommunityReport.objects.in_workspace(workspace).count(),
            "tree": SummaryNode.objects.in_workspace(workspace).count(),
        }


def lines(first: Run, second: Run, most: dict[str, int]) -> Iterator[str]:
    yield f"{'stage':<12}{'calls':>8}{'at most':>9}{'prompt':>12}{'completion':>12}{'again':>8}"
    for stage in sorted(set(most) | set(first.made)):
        yield (
            f"{stage:<12}{first.made[stage]:>8}{most.get(stage, 0):>9}"
            f"{first.prompt_tokens[stage]:>12}{first.completion_tokens[stage]:>12}"
            f"{second.made[stage]:>8}"
        )
    yield (
        f"{'all':<12}{first.made.total():>8}{sum(most.values()):>9}"
        f"{first.prompt_tokens.total():>12}{first.completion_tokens.total():>12}"
        f"{second.made.total():>8}"
    )
    yield f"a second run: {second.made.total()} calls, {second.cached.total()} from the cache"


def main() -> None:
    parser = argparse.ArgumentParser(description="What documents cost in calls and tokens.")
    parser.add_argument("files", type=Path, nargs="+")
    files = parser.parse_args().files
    overhead.measure(overhead.Clock())
    workspace = workspaces.workspace_create(
        name="Evaluation of calls", owner=None, slug=f"evaluation-{secrets.token_hex(6)}"
    )
    try:
        first = ingest(workspace, files)
        most = promised(workspace, gleanings=1)
        forget(workspace)
        second = ingest(workspace, files)
    finally:
        throwaway.delete(workspace)
    print("\n".join(lines(first, second, most)))
    save(files, first, second, most)


def save(files: list[Path], first: Run, second: Run, most: dict[str, int]) -> None:
    figures: dict[str, Any] = {
        "files": [path.name for path in files],
        "calls": first.made,
        "at_most": most,
        "prompt_tokens": first.prompt_tokens,
        "completion_tokens": first.completion_tokens,
        "calls_again": second.made.total(),
        "cached_again": second.cached.total(),
    }
    overhead.RESULTS.mkdir(exist_ok=True)
    target = overhead.RESULTS / f"model-calls-{files[0].stem}.json"
    target.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()

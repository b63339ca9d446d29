"""Count the calls and tokens a document costs on the model tier, from the ledger.

    python benchmarks/model_calls.py FILE [FILE …]

Ingests the files (or the first documents of a data set's folder) into a temporary workspace, with a
stub for the chat model. Prints the calls of each stage beside their upper limit, then deletes the
documents and ingests them again, which should make no calls. The stub always finds something at
first and nothing in a gleaning, so call counts match a real model that does the same; completion
tokens are the stub's.
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

from ingestion.documents import services
from ingestion.models import Chunk, CommunityReport, Document, Entity, SummaryNode
from retrieval.evaluation import dataset
from workspaces import access
from workspaces.administration.deletion import workspace_purge
from workspaces.models import ModelCall, Workspace
from workspaces.people import services as people_services

MOST: Final = 100


@dataclass(frozen=True)
class Run:
    """One ingest, by stage: calls made, calls answered from the cache, tokens of the calls made."""

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
    """Yield each document's title and content; of a data set's folder, only the first documents."""
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
    """Return the most calls each stage may make."""
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
    workspace = people_services.workspace_create(
        name="Evaluation of calls", owner=None, slug=f"evaluation-{secrets.token_hex(6)}"
    )
    try:
        first = ingest(workspace, files)
        most = promised(workspace, gleanings=1)
        forget(workspace)
        second = ingest(workspace, files)
    finally:
        workspace_purge(workspace.pk)
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

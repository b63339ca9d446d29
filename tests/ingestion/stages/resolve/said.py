"""Documents whose extraction is given, and a chat model that answers from a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ingestion.extractors.extraction import (
    Extraction,
    FoundClaim,
    FoundFragment,
    FoundMention,
    FoundRelation,
)
from ingestion.models import Chunk, ChunkExtraction, IngestionJob
from ingestion.stage import NO_PROGRESS, StageOutcome
from ingestion.stages import resolve
from kb_project.errors import ReplyError
from kb_project.llm.fake import FakeChat
from kb_project.llm.ports import ChatRequest
from kb_project.ports import Ports, build_ports
from tests.ingestion.jobs import add
from workspaces import access
from workspaces.models import Workspace


@dataclass(frozen=True)
class Said:
    """What a document's one passage says: names with their kinds, notes and links by place."""

    names: Sequence[tuple[str, str]]
    notes: Sequence[tuple[int, str]] = ()
    links: Sequence[tuple[int, int, str]] = ()
    claims: Sequence[tuple[int, int | None, str]] = ()


def extraction(said: Said) -> Extraction:
    return Extraction(
        tuple(
            FoundMention(10 * place, 10 * place + 5, name, kind, "model")
            for place, (name, kind) in enumerate(said.names)
        ),
        tuple(
            FoundRelation(a, b, "", 0, 60, "stated", 1.0, description, ("trade",))
            for a, b, description in said.links
        ),
        tuple(FoundFragment(name, text, 0, 40) for name, text in said.notes),
        tuple(
            FoundClaim(who, whom, "office", "true", "1974", "", text, 0, 40)
            for who, whom, text in said.claims
        ),
    )


def paper(workspace: Workspace, name: str, said: Said) -> IngestionJob:
    """A document as extraction leaves it."""
    text = f"{name} {said.names[0][0] if said.names else ''} ".ljust(400, "x")
    job = add(workspace, f"{name}.txt", text)
    with access.in_workspace(workspace.pk):
        chunk = Chunk.objects.create(
            workspace=workspace,
            document=job.document,
            version=job.version,
            ordinal=0,
            start=0,
            end=len(text),
            text=text,
            tokens=1,
        )
        ChunkExtraction.objects.create(
            workspace=workspace, chunk=chunk, method="m", payload=extraction(said).as_json()
        )
    return job


def ports(chat: FakeChat | None = None) -> Ports:
    base = build_ports()
    return Ports(base.embedder, base.graph, chat=chat)


def run(*jobs: IngestionJob, chat: FakeChat | None = None) -> list[StageOutcome]:
    return resolve.run(list(jobs), ports(chat), NO_PROGRESS)


Judge = Callable[[str], tuple[str, int] | str]


def judge(opinion: Judge) -> FakeChat:
    """Answers by what a prompt shows: a verdict, or a verdict and a number; '' gives none."""

    def answer(request: ChatRequest[Any]) -> Any:
        said = opinion(request.prompt.user)
        if not said:
            return ReplyError("Nothing usable.")
        verdict, number = (said, 0) if isinstance(said, str) else said
        return {"verdict": verdict, "reason": f"They are {verdict}.", "number": number}

    return FakeChat(answer)


def all_of(workspace: Workspace, model: Any, *fields: str) -> list[Any]:
    with access.in_workspace(workspace.pk):
        found = model.objects.in_workspace(workspace)
        return sorted(found.values_list(*fields, flat=len(fields) == 1))

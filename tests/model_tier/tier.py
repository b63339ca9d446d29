"""A workspace on the model tier: real pipeline, real database, a scripted server of models."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar
from uuid import UUID

from django.db.models import Model

from ingestion.models import (
    Chunk,
    ChunkExtraction,
    Claim,
    Document,
    Evidence,
    Fragment,
    IngestionJob,
    RunState,
)
from ingestion.pipeline import inline, recovery
from tests import rows
from tests.ingestion.jobs import add
from tests.provider import Provider
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.models import CachedReply, ModelBudget, ModelCall, Workspace

KEEPERS = ("Ada Lind", "Bo Strand", "Cora Vik", "Dag Holm", "Elin Moe", "Finn Dahl")
PLACES = ("Skarrow", "Tern Rock", "Orran", "Hollow Bay")
MOST_SWEEPS = 200


ModelT = TypeVar("ModelT", bound=Model)


@dataclass(frozen=True)
class Tier:
    workspace: Workspace
    provider: Provider

    def choose(self, **changes: object) -> None:
        """Set the models up, as an admin would on the page."""
        wanted = {
            "endpoint": self.provider.url,
            "key": self.provider.key,
            "model": self.provider.model,
            "concurrency": 4,
        }
        choice = ModelChoice(**(wanted | changes))  # type: ignore[arg-type]  # what a test changes
        language_model_services.model_settings_save(workspace=self.workspace, choice=choice)

    def add_papers(self, count: int = 4, *, paragraphs: int = 20) -> list[IngestionJob]:
        return [
            add(self.workspace, f"{n}.txt", paper(n, paragraphs=paragraphs)) for n in range(count)
        ]

    def drain(self) -> None:
        inline.drain(self.workspace.pk)

    def drain_and_sweep(
        self, documents: int, before_sweep: Callable[[], None] = lambda: None
    ) -> int:
        """Drain, and end pauses as the sweep does, until these documents are ready or nothing more
        comes of it; return how often work had paused.
        """
        paused = 0
        for _ in range(MOST_SWEEPS):
            self.drain()
            paused += any(job.state == RunState.PAUSED for job in self.rows(IngestionJob))
            if self.documents() == {"ready": documents}:
                break
            before_sweep()
            # The endpoint has its rest first.
            threading.Event().wait(0.05)
            recovery.resume_what_may_fare_better(self.workspace.pk)
        return paused

    def rows(self, model: type[ModelT]) -> list[ModelT]:
        with access.in_workspace(self.workspace.pk):
            return list(model._default_manager.filter(workspace=self.workspace))

    def count(self, model: type[Model]) -> int:
        return len(self.rows(model))

    def documents(self) -> Counter[str]:
        with access.in_workspace(self.workspace.pk):
            states = Document.objects.in_workspace(self.workspace).values_list("state", flat=True)
            return Counter(states)

    def problems(self) -> Counter[str]:
        """Codes of the passages that no model could read."""
        return Counter(one.problem["code"] for one in self.rows(ChunkExtraction) if one.problem)

    def spent(self) -> Decimal:
        with access.in_workspace(self.workspace.pk):
            return ModelBudget.objects.in_workspace(self.workspace).get().spent

    def calls(self, *states: str) -> list[ModelCall]:
        with access.in_workspace(self.workspace.pk):
            made = ModelCall.objects.in_workspace(self.workspace)
            return list(made.filter(state__in=states) if states else made)

    def cached(self) -> list[CachedReply]:
        with access.in_workspace(self.workspace.pk):
            return list(CachedReply.objects.in_workspace(self.workspace))


def make_tier(provider: Provider) -> Tier:
    tier = Tier(rows.make_workspace(), provider)
    tier.choose()
    return tier


def paper(number: int, *, paragraphs: int) -> str:
    """A few passages about keepers and places, other ones in every paper."""
    said = []
    for n in range(paragraphs):
        keeper = KEEPERS[(number + n) % len(KEEPERS)]
        other = KEEPERS[(number + 2 * n + 1) % len(KEEPERS)]
        place = PLACES[(number * 3 + n) % len(PLACES)]
        said.append(
            f"In the year {1700 + 50 * number + n} {keeper} kept the light of {place} and sold"
            f" {n} barrels of oil to {other}, who carried them over the sound in a small boat"
            f" before the winter of paper {number} came and the harbour froze."
        )
    return "\n\n".join(said)


def unaccounted(tier: Tier) -> set[UUID]:
    """Chunks that are neither extracted nor listed with a reason."""
    chunks = {chunk.pk for chunk in tier.rows(Chunk)}
    return chunks - {one.chunk_id for one in tier.rows(ChunkExtraction)}


def misplaced(tier: Tier) -> Iterable[str]:
    """Facts whose span is not inside their chunk."""
    with access.in_workspace(tier.workspace.pk):
        for model in (Evidence, Fragment, Claim):
            found = model.objects.in_workspace(tier.workspace).select_related("chunk")
            for fact in found:
                if not fact.chunk.start <= fact.start < fact.end <= fact.chunk.end:
                    yield f"{model.__name__} {fact.pk}"

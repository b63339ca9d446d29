"""Pages and lists of what is known ask the database as often for ten rows as for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingestion.models import (
    Alias,
    Claim,
    Entity,
    MergeSuggestion,
    Relationship,
    ResolutionDecision,
    Verdict,
)
from tests import rows
from tests.api import address as api_address, client
from tests.ingestion.pages import address, client_of
from workspaces import access

pytestmark = pytest.mark.django_db

FIRST, MORE = 1, 10
REASONS = [{"kind": "name", "weight": 4.5, "words": "similar names"}]


class Hub:
    """An entity about which there is one more of everything with each call of ``grow``."""

    def __init__(self) -> None:
        self.cast = rows.make_cast()
        self.workspace = self.cast.workspace
        self.hub = rows.make_entity(self.workspace, "Hub", "person")
        self.link: Relationship | None = None

    def grow(self, number: int) -> None:
        names = {f"Node {number}": "person", f"Twin {number}": "person", "Hub": "person"}
        text = f"Hub met Node {number}.\n\nTwin {number} wrote to Hub of Node {number}."
        document = rows.make_document(self.workspace, f"Letter {number}", text, names=names)
        chunks = rows.chunks_of(document)
        node, twin = (rows.make_entity(self.workspace, name) for name in list(names)[:2])
        self.link = rows.make_relationship(self.hub, node, chunks[0], "met")
        back = rows.make_relationship(twin, self.hub, chunks[1], "wrote to")
        rows.make_report(self.workspace, f"Topic {number}", [self.hub, node, twin], chunks)
        source = {"chunk": str(chunks[0].pk), "start": chunks[0].start, "end": chunks[0].end}
        conflict = {
            "reason": "They differ.",
            "statements": [{"text": "One", **source}, {"text": "Other", **source}],
        }
        with access.in_workspace(self.workspace.pk):
            Relationship.objects.in_workspace(self.workspace).filter(pk=back.pk).update(
                conflicts=[conflict]
            )
            hub = Entity.objects.in_workspace(self.workspace).get(pk=self.hub.pk)
            hub.conflicts = [*hub.conflicts, conflict]
            hub.degree += 2
            hub.description_sources = [*hub.description_sources, source]
            hub.save()
            self._more(number, hub, node, twin, chunks[0])

    def _more(self, number: int, hub: Entity, node: Entity, twin: Entity, chunk: Any) -> None:
        common = {"workspace": self.workspace}
        Alias.objects.create(**common, entity=hub, key=f"alias {number}", name=f"Alias {number}")
        Entity.objects.create(
            **common, key=hub.key, sense=number + 1, name="Hub", type="place", mention_count=1
        )
        Claim.objects.create(
            **common,
            subject=hub,
            object=node,
            chunk=chunk,
            document_id=chunk.document_id,
            type="work",
            status="true",
            description=f"Claim {number}",
            start=chunk.start,
            end=chunk.end,
            period_start=f"19{number:02}",
        )
        ResolutionDecision.objects.create(
            **common,
            left_key=hub.key,
            right_key=f"other {number}",
            verdict=Verdict.DIFFERENT,
            by=ResolutionDecision.By.PERSON,
            user=self.cast.alice,
        )
        for pair in ((node, twin), (hub, twin)):
            left, right = sorted(one.pk for one in pair)
            MergeSuggestion.objects.create(
                **common,
                left_id=left,
                right_id=right,
                score=0.9,
                effect=1,
                reason="Similar names",
                reasons=REASONS,
            )

    # --- what is looked at ------------------------------------------------------------------------
    def pages(self) -> Iterator[tuple[str, str]]:
        assert self.link
        for name, *ids in (
            ("entity_list",),
            ("entity_detail", self.hub.pk),
            ("entity_facts", self.hub.pk),
            ("entity_claims", self.hub.pk),
            ("fact_passages", self.link.pk),
            ("explorer_entity", self.hub.pk),
            ("case_list",),
            ("curation_queue",),
        ):
            yield name, address(name, self.cast, *ids)

    def operations(self) -> Iterator[tuple[str, str]]:
        hub = f"entities/{self.hub.pk}/"
        for path in (
            "entities/",
            hub,
            f"{hub}facts/",
            f"{hub}claims/",
            "relationships/",
            "claims/",
            "suggestions/",
            "graph/view/",
            f"graph/neighbours/?entity={self.hub.pk}",
        ):
            yield path, api_address(self.workspace, path)


def counts(asked: Iterator[tuple[str, str]], get: Callable[[str], Any]) -> dict[str, int]:
    found = {}
    for name, path in asked:
        with CaptureQueriesContext(connection) as caught:
            response = get(path)
        assert response.status_code == 200, (name, response.status_code)
        found[name] = len(caught)
    return found


def test_ten_rows_cost_as_many_queries_as_one():
    hub = Hub()
    browser, program = client_of(hub.cast.alice).get, client(hub.cast.alice).get

    def all_counts() -> dict[str, int]:
        return counts(hub.pages(), browser) | counts(hub.operations(), program)

    hub.grow(0)
    all_counts()  # what is read once for a session
    few = all_counts()
    for number in range(FIRST, MORE):
        hub.grow(number)
    browser(
        address("community_list", hub.cast)
    )  # the number of open cases, read once after a change
    many = all_counts()

    grown = {name: (few[name], many[name]) for name in few if many[name] > few[name]}
    assert grown == {}

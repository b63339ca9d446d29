from __future__ import annotations

from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest

from ingestion.knowledge.queries import ClaimView, claim_rows, claim_views, conflicts_of
from ingestion.models import Claim, Entity
from tests import rows
from tests.ingestion.stages.resolve.said import Said, paper, run
from workspaces import access
from workspaces.models import Workspace


@pytest.fixture
def workspace(media: Path, fake_embedder: None) -> Workspace:
    workspace = rows.make_workspace()
    names = [("Ada Lind", "person"), ("Skarrow", "place")]
    claims = [(0, 1, "She keeps the light."), (1, None, "It is an island.")]
    run(paper(workspace, "a", Said(names, claims=claims)))
    return workspace


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("ada lind", [("She keeps the light.", "skarrow")]),
        ("skarrow", [("It is an island.", None), ("She keeps the light.", "ada lind")]),
    ],
)
def test_a_claim_is_seen_from_both_ends(
    workspace: Workspace, key: str, expected: list[tuple[str, str | None]]
):
    with access.in_workspace(workspace.pk):
        entity = Entity.objects.in_workspace(workspace).get(key=key)
        views = claim_views(entity, claim_rows(workspace, entity))

    found = [(one.claim.description, one.other.key if one.other else None) for one in views]
    assert found == expected
    assert all(len(one.source.text) == 40 for one in views)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("", "", ""),
        ("1974", "", "since 1974"),
        ("", "1980-05", "until May 1980"),
        ("1974", "1980", "1974 to 1980"),
        ("1974", "1974", "1974"),
    ],
)
def test_a_period_reads_as_people_say_it(start: str, end: str, expected: str):
    claim = Claim(period_start=start, period_end=end)

    assert ClaimView(claim, None, cast(Any, None)).period == expected


@pytest.mark.django_db
def test_a_contradiction_needs_two_statements_whose_passages_are_there(workspace: Workspace):
    with access.in_workspace(workspace.pk):
        chunk = str(Claim.objects.in_workspace(workspace)[0].chunk_id)
        here = {"text": "Here.", "chunk": chunk, "start": 0, "end": 5}
        there = {"text": "There.", "chunk": chunk, "start": 6, "end": 9}
        gone = {"text": "Gone.", "chunk": str(uuid4()), "start": 0, "end": 5}
        stored = [
            {"reason": "Both stand.", "statements": [here, there, gone]},
            {"reason": "One is gone.", "statements": [here, gone]},
        ]

        views = conflicts_of(workspace, stored)

    [view] = views
    assert view.reason == "Both stand."
    assert [one.text for one in view.statements] == ["Here.", "There."]


@pytest.mark.django_db
def test_where_nothing_contradicts_nothing_is_looked_up(workspace: Workspace):
    assert conflicts_of(workspace, []) == []

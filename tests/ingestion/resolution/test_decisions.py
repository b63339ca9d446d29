from __future__ import annotations

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from ingestion.models import EntityRuling, HistoryEvent, MentionPlacement, ResolutionDecision
from ingestion.resolution import decisions
from ingestion.resolution.keys import Ref
from ingestion.resolution.overrides import PLAIN
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db
A, B, C = ("a", 0), ("b", 0), ("c", 0)


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


def say(workspace: Workspace, left: str, right: str, verdict: str, by: str = "person") -> None:
    with access.in_workspace(workspace.pk):
        ResolutionDecision.objects.create(
            workspace=workspace, left_key=left, right_key=right, verdict=verdict, by=by
        )


def apart(workspace: Workspace, *entities: Ref) -> list[tuple[Ref, Ref]]:
    with access.in_workspace(workspace.pk):
        resolution = decisions.load_resolution(workspace.pk)
        return [
            row.ends for row in decisions.distinct_decisions(workspace.pk, entities, resolution)
        ]


def test_two_that_were_said_to_differ_are_distinct(workspace: Workspace):
    say(workspace, "a", "b", "different")

    assert apart(workspace, A, B) == [(A, B)]
    assert apart(workspace, A, C) == []


def test_so_are_those_they_are_read_as(workspace: Workspace):
    say(workspace, "b", "c", "different")
    say(workspace, "a", "b", "same")

    assert apart(workspace, A, C) == [(B, C)]


def test_a_persons_last_word_counts(workspace: Workspace):
    say(workspace, "a", "b", "different", by="model")
    say(workspace, "a", "b", "same")
    say(workspace, "a", "b", "different", by="model")

    assert apart(workspace, A, B) == []


def test_another_workspace_says_nothing_here(workspace: Workspace):
    say(rows.make_workspace("Elsewhere"), "a", "b", "different")

    assert apart(workspace, A, B) == []


def test_where_nothing_was_decided_one_query_says_so(
    workspace: Workspace, django_assert_num_queries: DjangoAssertNumQueries
):
    with access.in_workspace(workspace.pk), django_assert_num_queries(1):
        assert decisions.load_resolution(workspace.pk, [workspace.pk]) == PLAIN


def test_entities_of_one_name_have_senses(workspace: Workspace):
    with access.in_workspace(workspace.pk):
        ResolutionDecision.objects.create(
            workspace=workspace, left_key="a", right_key="a", right_sense=1, by="person",
            verdict="same", keeps_right=True,
        )  # fmt: skip
        reading = decisions.load_resolution(workspace.pk)

    assert reading.resolve(("a", 0)) == ("a", 1)
    assert reading.names == {}


def test_a_number_of_a_sense_is_used_once(workspace: Workspace):
    with access.in_workspace(workspace.pk):
        assert decisions.next_sense(workspace.pk, "mercury") == 1
        event = HistoryEvent.objects.create(workspace=workspace, sequence=1, kind="entity_split")
        change = {"workspace": workspace, "event": event, "sequence": 1}
        MentionPlacement.objects.create(
            **change, key="hermes", target_key="mercury", target_sense=3, undone_at=timezone.now()
        )
        assert decisions.next_sense(workspace.pk, "mercury") == 4
        EntityRuling.objects.create(**change, key="mercury", sense=5, field="deleted")
        ResolutionDecision.objects.create(
            workspace=workspace, left_key="a", right_key="mercury", right_sense=7, by="person",
            verdict="different",
        )  # fmt: skip

        assert decisions.next_sense(workspace.pk, "mercury") == 8
        assert decisions.next_sense(workspace.pk, "hermes") == 1

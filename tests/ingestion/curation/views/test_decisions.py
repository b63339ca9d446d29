from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from ingestion.curation import entities, undoing
from ingestion.history.recording import ChangeContext
from ingestion.models import Entity, Mention, ResolutionDecision
from tests import rows
from tests.api import sign_in
from tests.ingestion.stages.resolve.said import Said, all_of, paper, run
from workspaces import access
from workspaces.models import User

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]


@pytest.fixture
def cast(media: Path) -> rows.Cast:
    cast = rows.make_cast()
    claims = [(0, None, "Marley was dead.")]
    run(
        paper(cast.workspace, "a", Said([("Jacob Marley", "person")], claims=claims)),
        paper(cast.workspace, "b", Said([("Jacob Marlez", "person")])),
    )
    return cast


def browser(user: User) -> Client:
    made = Client()
    sign_in(made, user)
    return made


def entity(cast: rows.Cast, key: str) -> Entity:
    with access.in_workspace(cast.workspace.pk):
        return Entity.objects.in_workspace(cast.workspace).get(key=key)


def page(cast: rows.Cast, user: User, key: str = "jacob marley") -> str:
    url = reverse("ingestion:entity_detail", args=[cast.workspace.slug, entity(cast, key).pk])
    return browser(user).get(url).content.decode()


def decide(cast: rows.Cast, user: User, verdict: str) -> Any:
    url = reverse("ingestion:decision_record", args=[cast.workspace.slug])
    left, right = entity(cast, "jacob marlez"), entity(cast, "jacob marley")
    return browser(user).post(url, {"left": left.pk, "right": right.pk, "verdict": verdict})


def undo(cast: rows.Cast, user: User) -> Any:
    with access.in_workspace(cast.workspace.pk):
        decision = ResolutionDecision.objects.in_workspace(cast.workspace).get()
    url = reverse("ingestion:decision_undo", args=[cast.workspace.slug, decision.pk])
    return browser(user).post(url)


def named(cast: rows.Cast) -> set[str]:
    return set(all_of(cast.workspace, Mention, "entity__key"))


def test_a_curator_joins_two_and_takes_it_back(cast: rows.Cast):
    assert "Not the same" in page(cast, cast.alice)

    response = decide(cast, cast.alice, "same")

    assert str(entity(cast, "jacob marley").pk) in response.url
    assert named(cast) == {"jacob marley"}
    shown = page(cast, cast.alice)
    assert "Decided by Alice" in shown
    assert "Undo" in shown
    assert undo(cast, cast.alice).status_code == 302
    assert named(cast) == {"jacob marley", "jacob marlez"}
    assert "Undone" in page(cast, cast.alice)
    assert undo(cast, cast.alice).status_code == 302


def test_a_rename_that_was_undone_leaves_no_decision_on_the_page(cast: rows.Cast):
    change = ChangeContext(cast.workspace, cast.alice)
    with access.in_workspace(cast.workspace.pk):
        renamed = entities.entity_edit(
            change=change, entity=entity(cast, "jacob marlez"), name="Old Jacob"
        )
    with access.in_workspace(cast.workspace.pk):
        undoing.event_undo(change=change, event=renamed.pk)

    assert "Decided by Alice" not in page(cast, cast.alice, "jacob marlez")


def test_a_curator_keeps_two_apart(cast: rows.Cast):
    decide(cast, cast.alice, "different")

    shown = page(cast, cast.bob)
    assert "is not" in shown
    assert "<strong>Jacob Marley</strong>" in shown
    assert "<strong>Jacob Marlez</strong>" in shown
    assert "May be the same as" not in shown


def test_a_reader_sees_decisions_and_no_buttons(cast: rows.Cast):
    shown = page(cast, cast.bob)

    assert "May be the same as" in shown
    assert "Not the same" not in shown
    assert decide(cast, cast.bob, "same").status_code == 403


def test_a_stranger_is_told_nothing(cast: rows.Cast):
    assert decide(cast, cast.charlie, "same").status_code == 404


def test_what_is_not_there_is_not_found(cast: rows.Cast):
    url = reverse("ingestion:decision_record", args=[cast.workspace.slug])
    for left in ("no id", str(uuid4())):
        assert browser(cast.alice).post(url, {"left": left}).status_code == 404


def test_an_entity_is_not_joined_with_itself(cast: rows.Cast):
    url = reverse("ingestion:decision_record", args=[cast.workspace.slug])
    one = entity(cast, "jacob marley").pk

    response = browser(cast.alice).post(url, {"left": one, "right": one}, follow=True)

    assert "These two entities have the same name." in response.content.decode()


def test_claims_are_shown_with_their_passages(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        Entity.objects.in_workspace(cast.workspace).update(
            description="A partner.", written_by="some-model"
        )

    shown = page(cast, cast.bob)

    assert "Marley was dead." in shown
    assert "Held true" in shown
    assert "since 1974" in shown
    assert "Summarised by some-model" in shown

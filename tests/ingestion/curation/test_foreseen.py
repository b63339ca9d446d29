"""Whatever was done to whatever small graph: what is foreseen is what happens."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from ingestion.curation import previewing
from ingestion.curation.entities import entity_delete, entity_edit
from ingestion.curation.merging import entities_merge
from ingestion.curation.relationships import relationship_create, relationship_delete
from ingestion.curation.splitting import Selection, entity_split, mentions_move
from ingestion.curation.undoing import event_undo
from ingestion.models import Document, Entity, HistoryEvent, Relationship
from ingestion.stages.describe.recompute import recompute_rows
from kb_project.errors import ConflictError, InputError
from tests import rows
from tests.ingestion.curation.papers import Desk
from tests.ingestion.stages.resolve.said import Said, paper, run
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder", "media"), pytest.mark.django_db]
NUMBERS = itertools.count()
PICK = st.integers(0, 100)
NAMES = ("Ada Lind", "Bo Strand", "Cora Vane", "Olaf Brekke")
GENTLY = settings(
    max_examples=8, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


@st.composite
def papers(draw: st.DrawFn) -> list[Said]:
    """Three papers that each name some people, once or more often, and link some of them."""
    found = []
    for _ in range(3):
        named = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
        places = st.integers(0, len(named) - 1)
        links = draw(st.lists(st.tuples(places, places), max_size=3))
        found.append(
            Said(
                [(name, "person") for name in named],
                links=[(a, b, "knows") for a, b in links if named[a] != named[b]],
            )
        )
    return found


Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["merge", "delete", "link", "unlink", "split", "move", "rename", "undo"]),
        PICK,
        PICK,
    ),
    max_size=3,
)


class Town(Desk):
    """A desk with papers of its own, at which anything may be done by number."""

    def __init__(self, said: Sequence[Said]) -> None:
        self.cast = rows.make_cast(f"Town {next(NUMBERS)}")
        self.workspace = self.cast.workspace
        run(*(paper(self.workspace, f"p{place}", one) for place, one in enumerate(said)))
        with access.in_workspace(self.workspace.pk):
            recompute_rows(self.workspace.pk)

    def all(self, model: Any, *order: str, **wanted: Any) -> list[Any]:
        with access.in_workspace(self.workspace.pk):
            return list(
                model.objects.in_workspace(self.workspace).filter(**wanted).order_by(*order)
            )

    def pick(self, place: int) -> Entity:
        found: list[Entity] = self.all(Entity, "key", "sense")
        return found[place % len(found)] if found else self.entity("nobody")

    def chosen(self, place: int) -> Selection:
        found: list[Document] = self.all(Document, "name")
        return Selection(documents=(found[place % len(found)].pk,))

    def do(self, step: Step) -> HistoryEvent | None:
        """Carry a step out; None where it is refused or there is nothing to do it with."""
        what, one, other = step
        with suppress(ConflictError, InputError, Entity.DoesNotExist, ZeroDivisionError):
            return DEEDS[what](self, one, other)
        return None


def link_of(town: Town, place: int) -> Relationship:
    found: list[Relationship] = town.all(Relationship, "source__key", "target__key")
    return found[place % len(found)]


def last_of(town: Town, place: int) -> HistoryEvent:
    found = [one for one in town.events() if one.undone_at is None]
    return found[place % len(found)]


DEEDS: dict[str, Any] = {
    "merge": lambda town, one, other: entities_merge(
        change=town.change(), kept=town.pick(one), others=[town.pick(other)]
    ),
    "delete": lambda town, one, _: entity_delete(change=town.change(), entity=town.pick(one)),
    "link": lambda town, one, other: relationship_create(
        change=town.change(), source=town.pick(one), target=town.pick(other), description="Cousins."
    ),
    "unlink": lambda town, one, _: relationship_delete(
        change=town.change(), relationship=link_of(town, one)
    ),
    "split": lambda town, one, other: entity_split(
        change=town.change(), entity=town.pick(one), selection=town.chosen(other), name="Ada Lind"
    ),
    "move": lambda town, one, other: mentions_move(
        change=town.change(), entity=town.pick(one), selection=town.chosen(other),
        target=town.pick(other),
    ),
    "rename": lambda town, one, other: entity_edit(
        change=town.change(), entity=town.pick(one), name=f"Name {other}"
    ),
    "undo": lambda town, one, _: event_undo(change=town.change(), event=last_of(town, one)),
}  # fmt: skip


def prepared(said: Sequence[Said], steps: Sequence[Step]) -> Town:
    town = Town(said)
    for step in steps:
        town.do(step)
    return town


@GENTLY
@given(papers(), STEPS, PICK, PICK)
def test_a_merge_does_what_was_foreseen(said: list[Said], steps: list[Step], one: int, other: int):
    town = prepared(said, steps)
    before = town.state()
    with suppress(ConflictError, InputError, Entity.DoesNotExist):
        kept, away = town.pick(one), town.pick(other)
        foreseen = previewing.preview(
            entities_merge, workspace=town.workspace, kept=kept, others=[away]
        )
        assert town.state() == before

        event = entities_merge(change=town.change(), kept=kept, others=[away])

        assert event.details["counts"] == foreseen.figures
        assert kept.pk in {entity.pk for entity in town.all(Entity)}
        assert away.pk not in {entity.pk for entity in town.all(Entity)}
        event_undo(change=town.change(), event=event)
        assert town.state() == before


@GENTLY
@given(papers(), STEPS, PICK)
def test_a_deletion_does_what_was_foreseen(said: list[Said], steps: list[Step], place: int):
    town = prepared(said, steps)
    before = town.state()
    with suppress(ConflictError, InputError, Entity.DoesNotExist):
        going = town.pick(place)
        foreseen = previewing.preview(entity_delete, workspace=town.workspace, entity=going)
        assert town.state() == before

        event = entity_delete(change=town.change(), entity=going)

        assert event.details["counts"] == foreseen.figures
        assert going.pk not in {entity.pk for entity in town.all(Entity)}
        event_undo(change=town.change(), event=event)
        assert town.state() == before


@GENTLY
@given(papers(), STEPS, PICK, PICK, st.booleans())
def test_a_split_or_a_move_does_what_was_foreseen(
    said: list[Said], steps: list[Step], one: int, other: int, is_move: bool
):
    town = prepared(said, steps)
    before = town.state()
    with suppress(ConflictError, InputError, Entity.DoesNotExist):
        wanted: dict[str, Any] = {"entity": town.pick(one), "selection": town.chosen(other)}
        more: dict[str, Any] = {"target": town.pick(other)} if is_move else {"name": "Dora Hale"}
        wanted |= more
        service: Any = mentions_move if is_move else entity_split
        foreseen = previewing.preview(service, workspace=town.workspace, **wanted)
        assert town.state() == before

        event = service(change=town.change(), **wanted)

        assert event.details["counts"] == foreseen.figures
        assert foreseen.mentions > 0
        event_undo(change=town.change(), event=event)
        assert town.state() == before


@GENTLY
@given(papers(), STEPS, PICK)
def test_taking_back_does_what_was_foreseen(said: list[Said], steps: list[Step], place: int):
    town = prepared(said, steps)
    before = town.state()
    if not town.events():
        return
    with suppress(ConflictError):
        event = last_of(town, place)
        foreseen = previewing.preview(event_undo, workspace=town.workspace, event=event)
        assert town.state() == before

        undoing = event_undo(change=town.change(), event=event)

        assert undoing.details["counts"] == foreseen.figures
        event_undo(change=town.change(), event=undoing)
        assert town.state() == before


@GENTLY
@given(papers(), st.lists(st.tuples(st.sampled_from(sorted(DEEDS)), PICK, PICK), max_size=6))
def test_whatever_was_done_is_taken_back_from_the_last_to_the_first(
    said: list[Said], steps: list[Step]
):
    town = Town(said)
    before = town.state()

    for step in steps:
        town.do(step)
    standing = [one for one in town.events() if one.undone_at is None]
    while standing:
        event_undo(change=town.change(), event=standing[-1])
        standing = [one for one in town.events() if one.undone_at is None and one.kind != "undo"]

    assert town.state() == before


def test_a_merge_foresees_that_a_deleted_relationship_stays_away():
    ada, bo, cora = [(name, "person") for name in ("Ada Lind", "Bo Strand", "Cora Vane")]
    town = Town(
        [Said([ada, cora], links=[(0, 1, "knows")]), Said([bo, cora], links=[(0, 1, "knows")])]
    )
    named = {entity.name: entity for entity in town.all(Entity)}
    kept, away = named["Ada Lind"], named["Bo Strand"]
    [link] = town.all(Relationship, source=kept)
    relationship_delete(change=town.change(), relationship=link)

    foreseen = previewing.preview(
        entities_merge, workspace=town.workspace, kept=kept, others=[away]
    )
    event = entities_merge(change=town.change(), kept=kept, others=[away])

    assert town.all(Relationship) == []
    assert event.details["counts"] == foreseen.figures

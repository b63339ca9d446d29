from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ingestion.curation import previewing
from ingestion.curation.entities import entity_edit
from ingestion.curation.merging import entities_merge
from ingestion.curation.splitting import Selection, entity_split, mentions_move
from ingestion.curation.undoing import event_undo
from ingestion.models import HistoryEvent, Mention, MentionPlacement
from kb_project.errors import ConflictError, InputError
from tests import rows
from tests.ingestion.curation.papers import Desk
from tests.ingestion.stages.resolve.said import Said, all_of, paper, run
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
INC, LTD, ADA, ORRAN, MERCURY = "acme inc", "acme ltd", "ada lind", "orran", "mercury"


def in_documents(desk: Desk, *names: str) -> Selection:
    return Selection(documents=tuple(desk.document(name).pk for name in names))


def split(desk: Desk, key: str, selection: Selection, name: str, sense: int = 0) -> HistoryEvent:
    return entity_split(
        change=desk.change(), entity=desk.id(key, sense), selection=selection, name=name
    )


def placements(desk: Desk) -> list[tuple[object, ...]]:
    """Key, own key, and whether document, passage and place are set."""
    found = all_of(
        desk.workspace, MentionPlacement, "key", "own_key", "document_id", "chunk_id", "offset"
    )
    return [(*row[:2], *(one is not None for one in row[2:])) for row in found]


def test_a_document_means_something_else(desk: Desk):
    event = split(desk, MERCURY, in_documents(desk, "e"), "Mercury")

    assert desk.mentions()[MERCURY] == desk.mentions()["mercury/1"] == 1
    assert "orran > mercury/1" in desk.links()
    made = desk.entity(MERCURY, 1)
    assert (made.name, event.details["into"]) == ("Mercury", str(made.pk))
    assert placements(desk) == [(MERCURY, "", True, False, False)]


def test_it_holds_for_what_the_document_says_later(desk: Desk):
    split(desk, MERCURY, in_documents(desk, "e"), "Mercury the planet")

    run(paper(desk.workspace, "z", Said([("Mercury", "product")])))

    assert desk.mentions()["mercury the planet"] == 1
    assert desk.mentions()[MERCURY] == 2


def test_a_name_means_something_else_wherever_it_is_used(desk: Desk):
    entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])

    split(desk, LTD, Selection(aliases=("Acme Inc",)), "Acme of America")

    assert placements(desk) == [(INC, INC, False, False, False)]
    assert desk.mentions()["acme of america"] == 2
    run(paper(desk.workspace, "z", Said([("Acme Inc", "organization")])))
    assert desk.mentions()["acme of america"] == 3


def test_a_passage_means_something_else(desk: Desk):
    [chunk] = rows.chunks_of(desk.document("b"))

    split(desk, LTD, Selection(chunks=(chunk.pk,)), "Acme of Orran")

    assert placements(desk) == [(LTD, "", True, True, False)]
    assert desk.mentions()["acme of orran"] == 1


def test_a_single_mention_is_named_by_its_place(desk: Desk):
    said = Said([("Acme Ltd", "organization"), ("Acme Ltd", "organization")])
    run(paper(desk.workspace, "z", said))
    with access.in_workspace(desk.workspace.pk):
        mention = Mention.objects.in_workspace(desk.workspace).filter(
            document=desk.document("z"), start=10
        )
        [pk] = mention.values_list("pk", flat=True)

    split(desk, LTD, Selection(mentions=(pk,)), "Another Acme")

    assert placements(desk) == [(LTD, LTD, True, True, True)]
    assert desk.mentions()["another acme"] == 1


def test_what_was_moved_by_place_before_is_not_forgotten(desk: Desk):
    """Of a document whose mention somebody moved here, just that is moved on."""
    mentions_move(
        change=desk.change(), entity=desk.id(LTD), selection=in_documents(desk, "b"),
        target=desk.id(INC),
    )  # fmt: skip
    before = desk.mentions()

    split(desk, INC, in_documents(desk, "b"), "Acme of Orran")

    assert desk.mentions() == before | {INC: before[INC] - 1, "acme of orran": 1}


def test_the_preview_says_just_what_then_happens(desk: Desk):
    chosen = in_documents(desk, "b", "d")
    before = desk.state()
    preview = previewing.preview(
        entity_split,
        workspace=desk.workspace,
        entity=desk.id(LTD),
        selection=chosen,
        name="Acme of Orran",
    )
    assert desk.state() == before

    event = split(desk, LTD, chosen, "Acme of Orran")

    assert event.details["counts"] == preview.figures
    assert (preview.mentions, preview.facts) == (2, 3)
    assert preview.sentence == "3 facts and 2 mentions move."


def test_moving_is_previewed_too(desk: Desk):
    wanted: dict[str, Any] = {
        "entity": desk.id(LTD),
        "selection": in_documents(desk, "d"),
        "target": desk.id(INC),
    }
    preview = previewing.preview(mentions_move, workspace=desk.workspace, **wanted)

    event = mentions_move(change=desk.change(), **wanted)

    assert event.details["counts"] == preview.figures
    assert preview.mentions == 1
    assert event.details["created"] == []


def test_a_name_is_given_to_a_new_entity_each_time(desk: Desk):
    before = desk.state()
    first = split(desk, MERCURY, in_documents(desk, "e"), "Mercury")
    event_undo(change=desk.change(), event=first)
    assert desk.state() == before

    second = split(desk, MERCURY, in_documents(desk, "d"), "Mercury")

    assert first.details["into"] != second.details["into"]
    assert desk.names().count("mercury/2") == 1


def test_the_new_one_may_have_a_type(desk: Desk):
    entity_split(
        change=desk.change(), entity=desk.id(MERCURY), selection=in_documents(desk, "e"),
        name="Mercury", type="Planet",
    )  # fmt: skip

    assert desk.entity(MERCURY, 1).type == "planet"
    assert desk.entity(MERCURY).type == "product"


def test_a_new_thing_is_split_and_worded_again(desk: Desk):
    split(desk, LTD, in_documents(desk, "b", "d"), "Acme of Orran")
    event = split(desk, "acme of orran", in_documents(desk, "d"), "Acme of Skarrow")
    entity_edit(change=desk.change(), entity=desk.id("acme of orran"), description="A branch.")

    assert desk.mentions()["acme of skarrow"] == desk.mentions()["acme of orran"] == 1
    event_undo(change=desk.change(), event=event)
    assert desk.mentions()["acme of orran"] == 2


# --- what cannot be -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("selection", "code"),
    [
        (Selection(), "nothing_selected"),
        (Selection(documents=(uuid4(),)), "nothing_selected"),
        (Selection(aliases=("Orran",)), "nothing_selected"),
        (Selection(aliases=("Mercury",)), "everything_selected"),
    ],
)
def test_neither_nothing_nor_everything_is_split(desk: Desk, selection: Selection, code: str):
    with pytest.raises(InputError) as refused:
        split(desk, MERCURY, selection, "Mercury the planet")

    assert refused.value.code == code
    assert refused.value.next_step
    with pytest.raises(InputError):
        mentions_move(
            change=desk.change(), entity=desk.id(MERCURY), selection=selection, target=desk.id(LTD)
        )
    assert desk.events() == []


def test_mentions_that_are_not_there_any_more_are_refused(desk: Desk):
    with pytest.raises(ConflictError) as refused:
        split(desk, MERCURY, Selection(mentions=(uuid4(),)), "Mercury the planet")

    assert refused.value.code == "mentions_changed"


def test_a_name_that_another_has_is_refused(desk: Desk):
    with pytest.raises(ConflictError) as refused:
        split(desk, MERCURY, in_documents(desk, "e"), "Orran")

    assert refused.value.code == "name_taken"


def test_mentions_are_not_moved_to_where_they_are(desk: Desk):
    with pytest.raises(InputError) as refused:
        mentions_move(
            change=desk.change(), entity=desk.id(LTD), selection=in_documents(desk, "b"),
            target=desk.id(LTD),
        )  # fmt: skip

    assert refused.value.code == "same_entity"

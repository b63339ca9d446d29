from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.knowledge import projection
from ingestion.models import Alias, Document, IngestionJob, JobKind, Relationship
from ingestion.stage import NO_PROGRESS
from ingestion.stages import describe, graph
from kb_project.ports import graph_store
from tests import rows
from tests.ingestion.curation.ruled import Hand, entity, graph_of, names
from tests.ingestion.stages.resolve.said import Said, paper, ports, run
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
ADA, OLAF, SKARROW = ("Ada Lind", "person"), ("Olaf Brekke", "person"), ("Skarrow", "place")
MISS_LIND = ("Miss Lind", "person")


@pytest.fixture
def workspace(media: Path) -> Workspace:
    """Four papers: Ada is called otherwise in one, and another Ada Lind is in another."""
    workspace = rows.make_workspace()
    said = {
        "log": Said([ADA, SKARROW], links=[(0, 1, "Ada keeps the light.")]),
        "letter": Said([MISS_LIND, SKARROW], links=[(0, 1, "Miss Lind left.")]),
        "visit": Said([ADA, OLAF], links=[(0, 1, "Ada met Olaf.")]),
        "census": Said([ADA, MISS_LIND], links=[(0, 1, "Two women.")]),
    }
    run(*(paper(workspace, name, one) for name, one in said.items()))
    refresh(workspace)
    return workspace


@pytest.fixture
def hand(workspace: Workspace) -> Hand:
    return Hand(workspace)


def refresh(workspace: Workspace) -> None:
    job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
    for stage in (describe, graph):
        stage.run(job, ports(), NO_PROGRESS)


def links(workspace: Workspace) -> set[tuple[str, str]]:
    with access.in_workspace(workspace.pk):
        found = Relationship.objects.in_workspace(workspace)
        return set(found.values_list("source__name", "target__name"))


def aliases(workspace: Workspace, key: str) -> set[str]:
    with access.in_workspace(workspace.pk):
        found = Alias.objects.in_workspace(workspace).filter(entity=entity(workspace, key))
        return set(found.values_list("name", flat=True))


def document(workspace: Workspace, name: str) -> Document:
    with access.in_workspace(workspace.pk):
        return Document.objects.in_workspace(workspace).get(name=f"{name}.txt")


def assert_projected(workspace: Workspace) -> None:
    """What the refresh projects is all that it lacks, and the refresh projects it."""
    assert not projection.compare(workspace.pk, graph_store()).lasting
    refresh(workspace)
    assert projection.compare(workspace.pk, graph_store()).is_empty


def assert_taken_back(workspace: Workspace, before: dict[str, object]) -> None:
    assert_projected(workspace)
    assert graph_of(workspace) == before


# --- merges ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kept", "other", "name"),
    [("ada lind", "miss lind", "Ada Lind"), ("miss lind", "ada lind", "Miss Lind")],
)
def test_the_entity_that_is_kept_gets_all_of_the_other(
    workspace: Workspace, hand: Hand, kept: str, other: str, name: str
):
    hand.merge(kept, other)

    one = entity(workspace, kept)
    assert entity(workspace, other) is None
    assert (one.name, one.mention_count, one.chunk_count) == (name, 5, 4)
    assert aliases(workspace, kept) == {"Ada Lind", "Miss Lind"}
    assert_projected(workspace)


def test_a_link_between_the_two_is_dropped_and_others_are_united(workspace: Workspace, hand: Hand):
    hand.merge("ada lind", "miss lind")

    assert links(workspace) == {("Ada Lind", "Skarrow"), ("Ada Lind", "Olaf Brekke")}
    with access.in_workspace(workspace.pk):
        to_skarrow = Relationship.objects.in_workspace(workspace).get(target__name="Skarrow")
    assert (to_skarrow.evidence_count, to_skarrow.weight) == (2, 2)


def test_what_is_kept_last_is_what_a_chain_is_read_as(workspace: Workspace, hand: Hand):
    hand.merge("ada lind", "miss lind")
    last = hand.merge("olaf brekke", "ada lind")

    assert names(workspace) == {"Olaf Brekke", "Skarrow"}
    hand.undo(last)
    assert names(workspace) == {"Ada Lind", "Olaf Brekke", "Skarrow"}


def test_a_merge_that_is_taken_back_leaves_nothing(workspace: Workspace, hand: Hand):
    before = graph_of(workspace)

    event = hand.merge("miss lind", "ada lind")
    assert graph_of(workspace) != before
    hand.undo(event)

    assert_taken_back(workspace, before)


def test_a_merge_is_obeyed_by_what_is_read_later(workspace: Workspace, hand: Hand):
    hand.merge("miss lind", "ada lind")

    run(paper(workspace, "diary", Said([ADA, OLAF])))
    refresh(workspace)

    assert entity(workspace, "ada lind") is None
    assert entity(workspace, "miss lind").mention_count == 6


# --- splits and moves -----------------------------------------------------------------------------
def test_the_mentions_of_one_document_go_to_an_entity_of_their_own(
    workspace: Workspace, hand: Hand
):
    before = graph_of(workspace)

    event = hand.place("ada lind", ("ada lind", 1), document=document(workspace, "visit"))

    assert entity(workspace, "ada lind").mention_count == 2
    other = entity(workspace, "ada lind", 1)
    assert (other.name, other.mention_count) == ("Ada Lind", 1)
    assert_projected(workspace)
    hand.undo(event)
    assert_taken_back(workspace, before)


def test_the_place_that_says_most_wins(workspace: Workspace, hand: Hand):
    visit = document(workspace, "visit")
    [chunk] = rows.chunks_of(visit)

    hand.place("ada lind", ("ada lind", 1))
    hand.place("ada lind", ("olaf brekke", 0), chunk_id=chunk.pk, offset=0)
    hand.place("ada lind", ("ada lind", 2), document=visit)

    assert entity(workspace, "ada lind") is None
    assert entity(workspace, "ada lind", 1).mention_count == 2
    assert entity(workspace, "ada lind", 2) is None
    assert entity(workspace, "olaf brekke").mention_count == 2


def test_what_was_placed_is_merged_like_any_other(workspace: Workspace, hand: Hand):
    hand.place("ada lind", ("skarrow", 0), document=document(workspace, "visit"))
    hand.merge("olaf brekke", "skarrow")

    assert entity(workspace, "olaf brekke").mention_count == 4
    assert entity(workspace, "ada lind").mention_count == 2


# --- what people say of entities ------------------------------------------------------------------
def test_a_name_and_a_description_stand_over_what_documents_say(workspace: Workspace, hand: Hand):
    before = graph_of(workspace)
    machine = entity(workspace, "ada lind").description

    event = hand.say("ada lind", ("name", "Ada L."), ("description", "Keeper."), ("type", "keeper"))

    one = entity(workspace, "ada lind")
    assert (one.name, one.type, one.description) == ("Ada L.", "keeper", "Keeper.")
    assert (one.written_by, one.proposed["description"]) == ("person", machine)
    assert (one.proposed["name"], one.proposed["type"]) == ("Ada Lind", "person")
    assert "Ada L." in aliases(workspace, "ada lind")
    hand.undo(event)
    assert_taken_back(workspace, before)


def test_later_documents_add_evidence_and_are_shown_as_proposals(workspace: Workspace, hand: Hand):
    hand.say("ada lind", ("description", "Keeper."), ("protected", ""))

    run(paper(workspace, "diary", Said([ADA], notes=[(0, "She wrote every day.")])))
    refresh(workspace)

    one = entity(workspace, "ada lind")
    assert (one.description, one.mention_count, one.is_protected) == ("Keeper.", 4, True)
    assert one.proposed["description"]


def test_of_two_words_the_later_one_stands_and_either_may_be_taken_back(
    workspace: Workspace, hand: Hand
):
    first = hand.say("ada lind", ("name", "Ada One"))
    second = hand.say("ada lind", ("name", "Ada Two"))

    hand.undo(first)
    assert entity(workspace, "ada lind").name == "Ada Two"
    hand.undo(second)
    assert entity(workspace, "ada lind").name == "Ada Lind"


def test_a_deleted_entity_stays_away_until_it_is_taken_back(workspace: Workspace, hand: Hand):
    before = graph_of(workspace)

    event = hand.say("ada lind", ("deleted", ""))
    late = paper(workspace, "late", Said([ADA, OLAF]))
    run(late)
    refresh(workspace)

    assert "Ada Lind" not in names(workspace)
    assert links(workspace) == {("Miss Lind", "Skarrow")}
    assert_projected(workspace)
    hand.undo(event)
    assert entity(workspace, "ada lind").mention_count == 4
    hand.delete_documents("late.txt")
    assert_taken_back(workspace, before)


def test_what_a_person_made_needs_no_document(workspace: Workspace, hand: Hand):
    event = hand.say("trinity house", ("created", ""), ("name", "Trinity House"))
    hand.delete_documents("log.txt", "letter.txt", "visit.txt", "census.txt")

    assert names(workspace) == {"Trinity House"}
    assert aliases(workspace, "trinity house") == {"Trinity House"}
    assert_projected(workspace)
    hand.undo(event)
    assert names(workspace) == set()


def test_an_alias_that_is_refused_goes_and_comes_back(workspace: Workspace, hand: Hand):
    hand.merge("ada lind", "miss lind")

    event = hand.say("ada lind", ("no_alias", "Miss Lind"))

    assert aliases(workspace, "ada lind") == {"Ada Lind"}
    hand.undo(event)
    assert aliases(workspace, "ada lind") == {"Ada Lind", "Miss Lind"}


# --- what people say of links ---------------------------------------------------------------------
def test_a_deleted_link_is_not_read_again(workspace: Workspace, hand: Hand):
    before = graph_of(workspace)

    event = hand.link("ada lind", "skarrow", ("deleted", ""))

    assert ("Ada Lind", "Skarrow") not in links(workspace)
    assert_projected(workspace)
    hand.undo(event)
    assert_taken_back(workspace, before)


def test_a_made_link_keeps_its_ends_alive(workspace: Workspace, hand: Hand):
    event = hand.link(
        "olaf brekke", "skarrow", ("created", ""), ("description", "Rows there."), ("keywords", "b")
    )
    hand.delete_documents("log.txt", "letter.txt", "visit.txt", "census.txt")

    assert names(workspace) == {"Olaf Brekke", "Skarrow"}
    with access.in_workspace(workspace.pk):
        [link] = Relationship.objects.in_workspace(workspace)
    assert (link.description, link.keywords, link.is_made) == ("Rows there.", ["b"], True)
    assert (link.weight, link.evidence_count, link.written_by) == (1, 0, "person")
    hand.undo(event)
    assert names(workspace) == set()


def test_a_made_link_goes_where_its_ends_are_read(workspace: Workspace, hand: Hand):
    hand.link("miss lind", "olaf brekke", ("created", ""), ("description", "Cousins."))

    event = hand.merge("ada lind", "miss lind")

    assert ("Ada Lind", "Olaf Brekke") in links(workspace)
    hand.undo(event)
    assert ("Miss Lind", "Olaf Brekke") in links(workspace)

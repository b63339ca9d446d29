"""Changes upon changes: merges of what was merged, splits of what was split, and the way back."""

from __future__ import annotations

from itertools import permutations

import pytest

from ingestion.curation.entities import entity_delete, entity_edit
from ingestion.curation.merging import entities_differ, entities_merge
from ingestion.curation.relationships import relationship_create, relationship_delete
from ingestion.curation.splitting import Selection, entity_split, mentions_move
from ingestion.curation.undoing import event_undo
from ingestion.models import Alias, Entity, HistoryEvent
from kb_project.errors import ConflictError
from tests.ingestion.curation.papers import SAID, Desk, merged, split
from tests.ingestion.stages.resolve.said import Said, paper, run
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
INC, LTD, ADA, ORRAN, MERCURY = "acme inc", "acme ltd", "ada lind", "orran", "mercury"


def undone(desk: Desk, event: HistoryEvent) -> HistoryEvent:
    return event_undo(change=desk.change(), event=event)


def blocker_of(desk: Desk, event: HistoryEvent) -> str:
    """The event that an undoing is refused for; nothing is changed by the attempt."""
    before = desk.state()
    with pytest.raises(ConflictError) as refused:
        undone(desk, event)
    assert desk.state() == before
    assert refused.value.code == "undo_blocked"
    return str(refused.value.fields["event"])


def read_again(desk: Desk, name: str, said: Said) -> None:
    run(paper(desk.workspace, name, said))


# --- merges upon merges ---------------------------------------------------------------------------
def test_a_chain_of_merges_is_taken_back_a_link_at_a_time(desk: Desk):
    states = [desk.state()]
    chain = []
    for kept, other in ((LTD, INC), (ORRAN, LTD), (ADA, ORRAN)):
        chain.append(merged(desk, kept, other))
        states.append(desk.state())

    for event, before in zip(reversed(chain), reversed(states[:-1]), strict=True):
        undone(desk, event)
        assert desk.state() == before


def test_of_a_chain_only_the_last_link_is_free(desk: Desk):
    first, second = merged(desk, LTD, INC), merged(desk, ORRAN, LTD)
    third = merged(desk, ADA, ORRAN)

    assert blocker_of(desk, first) == str(second.pk)
    assert blocker_of(desk, second) == str(third.pk)
    undone(desk, third)
    assert blocker_of(desk, first) == str(second.pk)


def test_a_whole_chain_is_read_as_its_last_kept(desk: Desk):
    everything = sum(desk.mentions().values())

    merged(desk, LTD, INC)
    merged(desk, ORRAN, LTD)
    merged(desk, ADA, ORRAN)

    assert desk.names() == [ADA, MERCURY]
    assert sum(desk.mentions().values()) == everything
    assert desk.mentions()[ADA] == everything - 2


@pytest.mark.parametrize("order", list(permutations([INC, ORRAN, ADA])))
def test_the_order_in_which_entities_are_merged_makes_no_difference(
    desk: Desk, order: tuple[str, ...]
):
    for other in order:
        merged(desk, LTD, other)
    one_by_one = desk.state()
    with access.in_workspace(desk.workspace.pk):
        events = list(HistoryEvent.objects.in_workspace(desk.workspace).order_by("-sequence")[:3])
    for event in events:
        undone(desk, event)

    merged(desk, LTD, *order)

    assert desk.state() == one_by_one


def test_what_is_kept_may_be_turned_round_by_undoing_and_merging_the_other_way(desk: Desk):
    first = merged(desk, LTD, INC)
    undone(desk, first)

    merged(desk, INC, LTD)

    assert INC in desk.names()
    assert LTD not in desk.names()
    assert desk.entity(INC).pk == desk.id(INC)


def test_two_merged_groups_become_one_and_two_again(desk: Desk):
    merged(desk, LTD, INC)
    merged(desk, ORRAN, MERCURY)
    apart = desk.state()

    both = merged(desk, LTD, ORRAN)
    assert desk.names() == [LTD, ADA]
    undone(desk, both)

    assert desk.state() == apart


def test_an_undoing_undone_again_and_again_swings_between_two_states(desk: Desk):
    before = desk.state()
    event = merged(desk, LTD, INC)
    after = desk.state()

    swung = []
    for _ in range(4):
        event = undone(desk, event)
        swung.append(desk.state())

    assert swung == [before, after, before, after]


def test_a_merge_done_again_by_undoing_its_undoing_blocks_what_came_before(desk: Desk):
    first, second = merged(desk, LTD, INC), merged(desk, ORRAN, LTD)
    undoing = undone(desk, second)
    undone(desk, undoing)

    assert blocker_of(desk, first) == str(second.pk)


def test_an_undoing_cannot_be_undone_over_what_was_done_since(desk: Desk):
    undoing = undone(desk, merged(desk, LTD, INC))
    later = merged(desk, INC, ORRAN)

    assert blocker_of(desk, undoing) == str(later.pk)
    undone(desk, later)
    undone(desk, undoing)

    assert desk.names() == [LTD, ADA, MERCURY, ORRAN]


# --- splits and moves -----------------------------------------------------------------------------
def test_a_group_is_split_and_put_together_again(desk: Desk):
    before = desk.state()
    merge = merged(desk, LTD, INC)
    parts = split(desk, LTD, "a", "Acme of Orran")
    made = parts.details["into"]

    assert blocker_of(desk, merge) == str(parts.pk)
    again = entities_merge(
        change=desk.change(), kept=desk.id(LTD), others=[entity_of(desk, "acme of orran").pk]
    )
    assert str(entity_id_of(again, 1)) == made
    for event in (again, parts, merge):
        undone(desk, event)

    assert desk.state() == before


def entity_of(desk: Desk, key: str) -> Entity:
    with access.in_workspace(desk.workspace.pk):
        return Entity.objects.in_workspace(desk.workspace).get(key=key)


def entity_id_of(event: HistoryEvent, place: int) -> str:
    return [event.details["kept"], *event.details["others"]][place]


def test_a_split_off_entity_can_itself_be_split(desk: Desk):
    run(paper(desk.workspace, "f", SAID["b"]), paper(desk.workspace, "g", SAID["b"]))
    documents = [desk.document(name).pk for name in ("b", "f")]
    before = desk.state()
    first = entity_split(
        change=desk.change(),
        entity=desk.id(LTD),
        selection=Selection(documents=documents),
        name="One",
    )
    between = desk.state()

    second = split(desk, "one", "f", "Two")

    assert {LTD, "one", "two"} <= set(desk.names())
    assert desk.mentions()["one"] == desk.mentions()["two"] == 1
    assert blocker_of(desk, first) == str(second.pk)
    undone(desk, second)
    assert desk.state() == between
    undone(desk, first)
    assert desk.state() == before


def test_a_sense_that_was_taken_back_is_never_given_to_another(desk: Desk):
    first = split(desk, LTD, "b", "Acme Ltd")
    undone(desk, first)

    second = split(desk, LTD, "d", "Acme Ltd")

    assert second.details["into"] != first.details["into"]
    assert [name for name in desk.names() if name.startswith(LTD)] == [LTD, f"{LTD}/2"]


def test_what_was_moved_back_and_forth_is_where_it_was_moved_last(desk: Desk):
    chosen = Selection(documents=(desk.document("b").pk,))
    before = desk.mentions()

    mentions_move(
        change=desk.change(), entity=desk.id(LTD), selection=chosen, target=desk.id(MERCURY)
    )
    assert desk.mentions()[MERCURY] == before[MERCURY] + 1
    mentions_move(
        change=desk.change(), entity=desk.id(MERCURY), selection=chosen, target=desk.id(LTD)
    )

    assert desk.mentions() == before


def test_mentions_that_were_moved_follow_when_their_target_is_merged(desk: Desk):
    chosen = Selection(documents=(desk.document("b").pk,))
    mentions_move(
        change=desk.change(), entity=desk.id(LTD), selection=chosen, target=desk.id(MERCURY)
    )
    there = desk.mentions()

    event = merged(desk, ADA, MERCURY)

    assert desk.mentions()[ADA] == there[ADA] + there[MERCURY]
    assert desk.mentions()[LTD] == there[LTD]
    undone(desk, event)
    assert desk.mentions() == there


def test_mentions_moved_to_what_is_deleted_are_nobodys(desk: Desk):
    chosen = Selection(documents=(desk.document("b").pk,))
    mentions_move(
        change=desk.change(), entity=desk.id(LTD), selection=chosen, target=desk.id(MERCURY)
    )
    there = desk.mentions()

    event = entity_delete(change=desk.change(), entity=desk.id(MERCURY))

    assert desk.mentions() == {name: n for name, n in there.items() if name != MERCURY}
    undone(desk, event)
    assert desk.mentions() == there


# --- what people protected, deleted and named -----------------------------------------------------
def test_what_is_protected_and_worded_stays_so_when_documents_say_more(desk: Desk):
    entity_edit(
        change=desk.change(), entity=desk.id(LTD), name="Acme Group", type="firm",
        description="A firm of Orran.", is_protected=True,
    )  # fmt: skip

    read_again(desk, "f", Said([("Acme Ltd", "ship")], notes=[(0, "Acme Ltd is a ship.")]))

    shown = desk.entity(LTD)
    assert (shown.name, shown.type, shown.description) == (
        "Acme Group", "firm", "A firm of Orran."
    )  # fmt: skip
    assert shown.is_protected
    assert desk.mentions()[LTD] == 4


def test_a_deleted_name_stays_away_although_another_goes_by_it(desk: Desk):
    entity_delete(change=desk.change(), entity=desk.id(MERCURY))

    read_again(desk, "f", Said([("Mercury", "product"), ("Ada Lind", "person")]))

    assert MERCURY not in desk.names()
    assert desk.mentions()[ADA] == 3


def test_what_is_merged_into_a_deleted_entitys_place_does_not_bring_it_back(desk: Desk):
    merge = merged(desk, LTD, INC)
    deletion = entity_delete(change=desk.change(), entity=desk.id(LTD))

    assert not {LTD, INC} & set(desk.names())
    assert blocker_of(desk, merge) == str(deletion.pk)
    undone(desk, deletion)
    undone(desk, merge)
    assert {LTD, INC} <= set(desk.names())


def test_a_deleted_name_may_be_given_to_another_as_an_alias(desk: Desk):
    before = desk.state()
    deletion = entity_delete(change=desk.change(), entity=desk.id(MERCURY))

    alias = entity_edit(change=desk.change(), entity=desk.id(ORRAN), add_aliases=["Mercury"])

    with access.in_workspace(desk.workspace.pk):
        named = Alias.objects.in_workspace(desk.workspace).filter(name="Mercury")
        assert [one.entity_id for one in named] == [desk.id(ORRAN)]
    undone(desk, alias)
    undone(desk, deletion)
    assert desk.state() == before


def test_an_alias_that_was_given_and_taken_away_leads_nowhere(desk: Desk):
    entity_edit(change=desk.change(), entity=desk.id(ORRAN), add_aliases=["The island"])
    entity_edit(change=desk.change(), entity=desk.id(ORRAN), remove_aliases=["The island"])

    read_again(desk, "f", Said([("The island", "place")]))

    assert desk.mentions()[ORRAN] == 2
    assert "island" in " ".join(desk.names())


def test_a_rename_goes_with_the_merge_and_comes_back_from_it(desk: Desk):
    entity_edit(change=desk.change(), entity=desk.id(INC), name="Acme of the East")
    before = desk.state()

    event = merged(desk, LTD, INC)

    assert desk.entity(LTD).name == "Acme Ltd"
    with access.in_workspace(desk.workspace.pk):
        aliases = Alias.objects.in_workspace(desk.workspace).filter(entity=desk.id(LTD))
        assert "Acme Inc" in set(aliases.values_list("name", flat=True))
    undone(desk, event)
    assert desk.state() == before


def test_what_was_told_apart_stays_apart_when_a_third_is_merged_with_one(desk: Desk):
    entities_differ(change=desk.change(), entities=[desk.id(LTD), desk.id(INC)])

    merged(desk, LTD, ORRAN)

    assert {LTD, INC} <= set(desk.names())
    merged(desk, INC, MERCURY)
    assert desk.names() == [INC, LTD, ADA]


def test_what_was_told_apart_is_merged_all_the_same_and_apart_again(desk: Desk):
    entities_differ(change=desk.change(), entities=[desk.id(LTD), desk.id(INC), desk.id(ORRAN)])
    before = desk.state()

    event = merged(desk, LTD, INC, ORRAN)

    assert desk.names() == [LTD, ADA, MERCURY]
    undone(desk, event)
    assert desk.state() == before


# --- facts ----------------------------------------------------------------------------------------
def test_a_deleted_fact_does_not_come_back_by_a_merge_of_an_end(desk: Desk):
    relationship_delete(change=desk.change(), relationship=desk.link(LTD, ORRAN))

    event = merged(desk, LTD, INC)

    assert f"{LTD} > {ORRAN}" not in desk.links()
    undone(desk, event)
    assert f"{LTD} > {ORRAN}" not in desk.links()


def test_a_fact_of_ones_own_follows_through_two_merges_and_back(desk: Desk):
    relationship_create(
        change=desk.change(), source=desk.id(INC), target=desk.id(MERCURY), description="Buys it."
    )
    states = [desk.state()]
    events = [merged(desk, LTD, INC)]
    states.append(desk.state())
    events.append(merged(desk, ORRAN, LTD))

    assert f"{ORRAN} > {MERCURY}" in desk.links()
    for event, before in zip(reversed(events), reversed(states), strict=True):
        undone(desk, event)
        assert desk.state() == before


def test_a_fact_between_what_becomes_one_is_no_more_and_comes_back(desk: Desk):
    made = relationship_create(
        change=desk.change(), source=desk.id(INC), target=desk.id(LTD), description="Once owned it."
    )

    event = merged(desk, LTD, INC)

    assert not any(link == f"{LTD} > {LTD}" for link in desk.links())
    undone(desk, event)
    assert {f"{INC} > {LTD}", f"{LTD} > {INC}"} <= set(desk.links())
    undone(desk, made)
    assert f"{INC} > {LTD}" not in desk.links()

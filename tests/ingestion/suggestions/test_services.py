from __future__ import annotations

from uuid import uuid4

import pytest

from ingestion.curation.merging import entities_differ
from ingestion.curation.undoing import event_undo
from ingestion.models import HistoryEvent
from ingestion.resolution.decisions import decided_pairs
from ingestion.resolution.keys import pair_of
from ingestion.suggestions import cases as case_queries, services
from kb_project.errors import ConflictError, InputError, NotFoundError, PreconditionError
from tests import rows
from tests.ingestion.suggestions.papers import (
    ACME,
    INC,
    SHORT,
    UNIT,
    case_of,
    cases,
    change,
    entities,
    id_of,
    keys,
    search,
)
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]


def accept(cast: rows.Cast, *wanted: str) -> HistoryEvent:
    case = case_of(cast, *wanted)
    return services.case_accept(
        change=change(cast, expected=case.expected),
        entities=[side.id for side in case.entities],
        kept=case.kept,
    )


def preview(cast: rows.Cast, threshold: float) -> services.BulkEffect:
    with access.in_workspace(cast.workspace.pk):
        return services.accept_above_preview(workspace=cast.workspace, threshold=threshold)


def test_two_pairs_wait_to_be_decided(cast: rows.Cast):
    assert sorted(map(sorted, map(keys, cases(cast)))) == [[ACME, INC], [UNIT, SHORT]]


def test_a_case_is_merged_and_leaves_the_queue(cast: rows.Cast):
    accept(cast, ACME, INC)

    # Of two that are named equally often, the fuller name is kept.
    assert entities(cast) == [INC, "ada lind", UNIT, SHORT, "hestay"]
    assert [keys(case) for case in cases(cast)] == [{UNIT, SHORT}]
    search(cast)
    assert [keys(case) for case in cases(cast)] == [{UNIT, SHORT}]


def test_and_comes_back_as_it_was_when_that_is_undone(cast: rows.Cast):
    before = cases(cast)
    event = accept(cast, ACME, INC)

    undoing = event_undo(change=change(cast), event=event)

    assert INC in entities(cast)
    assert [(case.key, case.pairs, case.certainty) for case in cases(cast)] == [
        (case.key, case.pairs, case.certainty) for case in before
    ]
    search(cast)
    assert len(cases(cast)) == 2
    again = event_undo(change=change(cast), event=undoing)
    assert [keys(case) for case in cases(cast)] == [{UNIT, SHORT}]
    event_undo(change=change(cast), event=again)
    assert [case.key for case in cases(cast)] == [case.key for case in before]


def test_what_is_dropped_stays_as_it_is(cast: rows.Cast):
    services.case_accept(
        change=change(cast),
        entities=[id_of(cast, key) for key in (ACME, INC, SHORT)],
        kept=id_of(cast, ACME),
        dropped=[id_of(cast, SHORT)],
    )

    assert SHORT in entities(cast)
    assert INC not in entities(cast)
    assert [keys(case) for case in cases(cast)] == [{UNIT, SHORT}]


@pytest.mark.parametrize(("kept", "dropped"), [(SHORT, []), (ACME, [ACME]), (ACME, [SHORT])])
def test_what_is_kept_and_what_is_dropped_are_of_the_case(cast: rows.Cast, kept, dropped):
    with pytest.raises(InputError) as refused:
        services.case_accept(
            change=change(cast),
            entities=[id_of(cast, ACME), id_of(cast, INC)],
            kept=id_of(cast, kept),
            dropped=[id_of(cast, key) for key in dropped],
        )

    assert refused.value.code == "not_in_the_case"


def test_all_but_one_dropped_is_no_merge(cast: rows.Cast):
    with pytest.raises(InputError):
        services.case_accept(
            change=change(cast),
            entities=[id_of(cast, ACME), id_of(cast, INC)],
            kept=id_of(cast, ACME),
            dropped=[id_of(cast, INC)],
        )


def test_not_the_same_is_remembered_whenever_they_are_found_again(cast: rows.Cast):
    case = case_of(cast, ACME, INC)
    entities_differ(change=change(cast), entities=[side.id for side in case.entities])
    search(cast)

    assert [keys(case) for case in cases(cast)] == [{UNIT, SHORT}]
    with access.in_workspace(cast.workspace.pk):
        [refused] = case_queries.case_refused(workspace=cast.workspace)
    assert {refused.left.name, refused.right.name} == {"Acme Instruments", "Acme Instruments Inc"}
    assert refused.said_by == "Alice"
    assert refused.decision.event_id


def test_not_the_same_taken_back_is_asked_again(cast: rows.Cast):
    case = case_of(cast, ACME, INC)
    event = entities_differ(change=change(cast), entities=[side.id for side in case.entities])

    event_undo(change=change(cast), event=event)

    assert len(cases(cast)) == 2


def test_what_was_said_of_a_name_holds_for_what_it_was_merged_into(cast: rows.Cast):
    entities_differ(change=change(cast), entities=[id_of(cast, ACME), id_of(cast, SHORT)])
    accept(cast, ACME, INC)

    with access.in_workspace(cast.workspace.pk):
        decided = decided_pairs(cast.workspace.pk)

    assert set(decided) == {pair_of(id_of(cast, INC), id_of(cast, SHORT))}


def test_who_decides_on_what_has_changed_is_told(cast: rows.Cast):
    case = case_of(cast, ACME, INC)
    entities_differ(change=change(cast), entities=[id_of(cast, INC), id_of(cast, SHORT)])

    with pytest.raises(PreconditionError):
        services.case_accept(
            change=change(cast, expected=case.expected),
            entities=[side.id for side in case.entities],
            kept=case.kept,
        )
    assert INC in entities(cast)


def test_a_case_is_merged_once(cast: rows.Cast):
    case = case_of(cast, ACME, INC)
    accept(cast, ACME, INC)

    with pytest.raises(ConflictError):
        services.case_accept(
            change=change(cast), entities=[side.id for side in case.entities], kept=case.kept
        )


# --- many at one stroke ---------------------------------------------------------------------------
def test_accepting_above_a_certainty_is_said_before_it_is_done(cast: rows.Cast):
    found = preview(cast, 0.5)

    assert (found.cases, found.entities, found.gone, found.left) == (2, 4, 2, 0)
    assert found.effect.mentions == 2
    assert found.sentence.startswith("2 cases are merged: 4 entities become 2. ")
    assert len(entities(cast)) == 6


def test_one_undo_takes_all_of_it_back(cast: rows.Cast):
    before = entities(cast)

    done = services.cases_accept_above(
        change=change(cast), threshold=0.5, digest=preview(cast, 0.5).digest
    )
    assert len(done) == 2
    assert {event.batch for event in done} == {done[0].batch}
    assert len(entities(cast)) == 4
    event_undo(change=change(cast), event=done[1])

    assert entities(cast) == before
    search(cast)
    assert len(cases(cast)) == 2


def test_nothing_is_merged_that_was_not_looked_at(cast: rows.Cast):
    seen = preview(cast, 0.5)
    accept(cast, ACME, INC)

    with pytest.raises(PreconditionError):
        services.cases_accept_above(change=change(cast), threshold=0.5, digest=seen.digest)

    assert SHORT in entities(cast)


def test_nothing_that_certain_is_nothing_to_do(cast: rows.Cast):
    assert preview(cast, 1).sentence == "No open case reaches that certainty."
    with pytest.raises(InputError) as refused:
        services.cases_accept_above(change=change(cast), threshold=1)
    assert refused.value.code == "nothing_to_accept"


@pytest.mark.parametrize("threshold", [0.49, 1.01, float("nan")])
def test_what_is_hardly_certain_is_never_accepted_unseen(cast: rows.Cast, threshold: float):
    with pytest.raises(InputError) as refused:
        services.cases_accept_above(change=change(cast), threshold=threshold)
    assert refused.value.code == "certainty_out_of_range"


def test_entities_of_another_workspace_are_nothing_here(cast: rows.Cast):
    with pytest.raises(NotFoundError):
        entities_differ(change=change(cast), entities=[uuid4(), uuid4()])

from __future__ import annotations

from uuid import uuid4

import pytest

from ingestion.curation import previewing
from ingestion.curation.entities import entity_edit
from ingestion.curation.merging import MOST, entities_differ, entities_merge
from ingestion.curation.undoing import event_undo
from ingestion.models import EventKind, HistoryEvent, MergeSuggestion, ResolutionDecision
from ingestion.pipeline.propagate import propagate
from kb_project.errors import ConflictError, InputError, NotFoundError, PreconditionError
from tests import rows
from tests.ingestion.curation.papers import Desk
from tests.ingestion.stages.resolve.said import Said, all_of, paper, run
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
INC, LTD = "acme inc", "acme ltd"


def merged(desk: Desk, kept: str = LTD, *others: str, name: str | None = None) -> HistoryEvent:
    return entities_merge(
        change=desk.change(),
        kept=desk.entity(kept),
        others=[desk.entity(one) for one in others or (INC,)],
        name=name,
    )


def test_one_is_read_as_the_other(desk: Desk):
    event = entities_merge(change=desk.change(), kept=desk.entity(LTD), others=[desk.entity(INC)])

    assert desk.mentions() == {LTD: 5, "ada lind": 2, "mercury": 2, "orran": 2}
    assert desk.links() == [
        "acme ltd > ada lind",
        "acme ltd > mercury",
        "acme ltd > orran",
        "orran > mercury",
    ]
    assert INC not in desk.names()
    assert (event.kind, event.user) == (EventKind.ENTITIES_MERGED, desk.cast.alice)
    assert event.details["names"] == {
        str(desk.id(LTD)): "Acme Ltd",
        str(desk.id(INC)): "Acme Inc",
    }


@pytest.mark.parametrize("kept", [INC, LTD])
def test_what_is_kept_keeps_its_id(desk: Desk, kept: str):
    other = INC if kept == LTD else LTD

    merged(desk, kept, other)

    assert desk.entity(kept).pk == desk.id(kept)
    assert desk.entity(kept).name == ("Acme Ltd" if kept == LTD else "Acme Inc")


def test_the_preview_says_just_what_then_happens(desk: Desk):
    preview = previewing.preview(
        entities_merge, workspace=desk.workspace, kept=desk.id(LTD), others=[desk.entity(INC)]
    )

    event = entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])

    assert event.details["counts"] == preview.figures
    assert (preview.mentions, preview.facts) == (2, 2)
    assert (preview.duplicates, preview.self_loops) == (1, 1)
    assert preview.sentence == (
        "2 facts and 2 mentions move; 1 becomes a duplicate; 1 would link it to itself and is"
        " dropped."
    )


def test_reports_that_speak_of_them_are_counted(desk: Desk):
    with access.in_workspace(desk.workspace.pk):
        rows.make_report(desk.workspace, "Firms", [desk.entity(INC)], [])

    preview = previewing.preview(
        entities_merge, workspace=desk.workspace, kept=desk.id(LTD), others=[desk.id(INC)]
    )

    assert preview.reports == 1
    assert preview.sentence.endswith("1 report will be rewritten.")


def test_several_become_one_and_what_they_say_of_each_other_goes(desk: Desk):
    event = entities_merge(
        change=desk.change(),
        kept=desk.id("orran"),
        others=[desk.id(one) for one in ("mercury", INC, LTD)],
    )

    assert desk.names() == ["ada lind", "orran"]
    assert desk.links() == ["orran > ada lind"]
    counts = event.details["counts"]
    assert (counts["self_loops"], counts["duplicates"]) == (4, 1)


def test_undoing_gives_what_there_was(desk: Desk):
    before = desk.state()
    event = entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])

    event_undo(change=desk.change(), event=event)

    assert desk.state() == before


def test_a_merge_outlives_what_comes_later(desk: Desk):
    merged(desk)

    run(paper(desk.workspace, "z", Said([("Acme Inc", "organization")])))

    assert INC not in desk.names()
    assert desk.mentions()[LTD] == 6


def test_it_may_get_a_new_name(desk: Desk):
    merged(desk, LTD, INC, name="Acme Group")

    assert desk.entity(LTD).name == "Acme Group"
    run(paper(desk.workspace, "z", Said([("Acme Group", "organization")])))
    assert "acme group" not in desk.names()


def test_it_may_take_the_name_of_what_is_merged(desk: Desk):
    merged(desk, LTD, INC, name="Acme Inc")

    assert desk.entity(LTD).name == "Acme Inc"


def test_but_not_one_that_another_has(desk: Desk):
    with pytest.raises(ConflictError) as refused:
        merged(desk, LTD, INC, name="Orran")

    assert refused.value.code == "name_taken"
    assert refused.value.fields["entity"]["id"] == str(desk.id("orran"))
    assert INC in desk.names()


# --- what differs ---------------------------------------------------------------------------------
def test_across_types_the_clear_one_is_kept_and_the_preview_says_so(desk: Desk):
    preview = previewing.preview(
        entities_merge, workspace=desk.workspace, kept=desk.id("mercury"), others=[desk.id("orran")]
    )
    event = merged(desk, "mercury", "orran")

    assert desk.entity("mercury").type == "product"
    assert preview.conflicts == 1
    assert preview.notes == ("Their types differ (product, place); 'product' is kept.",)
    [conflict] = event.details["conflicts"]
    assert conflict["shown"] == "product"
    assert [value["value"] for value in conflict["values"]] == ["product", "place"]


def test_a_type_that_says_nothing_gives_way(desk: Desk):
    run(paper(desk.workspace, "z", Said([("Vessel", "name"), ("Vessel", "name")])))

    merged(desk, "vessel", "mercury")

    assert desk.entity("vessel").type == "product"


def test_what_two_people_wrote_is_kept_with_its_source(desk: Desk):
    for key, text in ((LTD, "A firm."), (INC, "Another firm.")):
        entity_edit(change=desk.change(), entity=desk.id(key), description=text)

    event = merged(desk)

    assert desk.entity(LTD).description == "A firm."
    [conflict] = event.details["conflicts"]
    assert conflict["values"] == [
        {"entity": str(desk.id(LTD)), "name": "Acme Ltd", "value": "A firm.", "by": "person"},
        {"entity": str(desk.id(INC)), "name": "Acme Inc", "value": "Another firm.", "by": "person"},
    ]
    event_undo(change=desk.change(), event=event)
    assert desk.entity(INC).description == "Another firm."


def test_what_was_said_to_differ_is_told_and_overruled(desk: Desk):
    entities_differ(change=desk.change(), entities=[desk.id(LTD), desk.id(INC)])
    preview = previewing.preview(
        entities_merge, workspace=desk.workspace, kept=desk.id(LTD), others=[desk.id(INC)]
    )

    event = merged(desk)

    assert preview.notes == ("Alice marked two of them as not the same.",)
    assert INC not in desk.names()
    event_undo(change=desk.change(), event=event)
    assert INC in desk.names()


def test_what_a_model_joined_stays_joined(desk: Desk):
    run(paper(desk.workspace, "z", Said([("Acme Limited", "organization")])))
    with access.in_workspace(desk.workspace.pk):
        ResolutionDecision.objects.create(
            workspace=desk.workspace, left_key="acme limited", right_key=LTD, verdict="same",
            by="model",
        )  # fmt: skip
        propagate(desk.workspace.pk, ["acme limited", LTD])
    assert LTD not in desk.names()

    entities_merge(change=desk.change(), kept=desk.id(INC), others=[desk.id("acme limited")])

    assert desk.names() == [INC, "ada lind", "mercury", "orran"]


def test_nobody_is_asked_about_them_any_more(desk: Desk):
    with access.in_workspace(desk.workspace.pk):
        MergeSuggestion.objects.in_workspace(desk.workspace).delete()
        MergeSuggestion.objects.create(
            workspace=desk.workspace, left_id=desk.id(INC), right_id=desk.id(LTD), score=1,
            reason="alike",
        )  # fmt: skip

    merged(desk)

    assert "open" not in all_of(desk.workspace, MergeSuggestion, "state")


# --- what cannot be -------------------------------------------------------------------------------
def test_nothing_is_merged_with_itself(desk: Desk):
    for others in ([INC], [LTD, LTD]):
        with pytest.raises(InputError) as refused:
            entities_merge(
                change=desk.change(), kept=desk.id(INC), others=[desk.id(one) for one in others]
            )
        assert refused.value.code == "same_entity"


def test_one_alone_is_not_merged(desk: Desk):
    with pytest.raises(InputError) as refused:
        entities_merge(change=desk.change(), kept=desk.id(INC), others=[])

    assert refused.value.code == "nothing_to_merge"


def test_so_many_are_not_merged_at_once(desk: Desk):
    with pytest.raises(InputError) as refused:
        entities_merge(
            change=desk.change(), kept=desk.id(INC), others=[uuid4() for _ in range(500)]
        )

    assert refused.value.code == "too_many"
    assert f"at most {MOST}" in refused.value.sentence


def test_what_is_elsewhere_is_not_found(desk: Desk):
    foreign = rows.make_entity(rows.make_workspace("Elsewhere"), "Acme Inc")

    with pytest.raises(NotFoundError):
        entities_merge(change=desk.change(), kept=desk.id(LTD), others=[foreign])
    with pytest.raises(NotFoundError):
        previewing.preview(
            entities_merge, workspace=desk.workspace, kept=desk.id(LTD), others=[foreign]
        )


def test_what_was_merged_away_says_by_whom_and_into_what(desk: Desk):
    first = merged(desk)

    with pytest.raises(ConflictError) as refused:
        entities_merge(change=desk.change(), kept=desk.id("orran"), others=[desk.id(INC)])

    assert refused.value.code == "merged_away"
    assert refused.value.happened.startswith("'Acme Inc' was merged into 'Acme Ltd' by Alice on ")
    assert refused.value.fields == {
        "event": str(first.pk),
        "into": str(desk.id(LTD)),
    }


def test_who_saw_an_older_state_is_told_what_changed(desk: Desk):
    expected = {desk.id(LTD): 0}
    event = entity_edit(change=desk.change(), entity=desk.id(LTD), type="firm")

    with pytest.raises(PreconditionError) as refused:
        entities_merge(
            change=desk.change(expected=expected), kept=desk.id(LTD), others=[desk.id(INC)]
        )

    assert refused.value.events == (event.pk,)
    assert INC in desk.names()

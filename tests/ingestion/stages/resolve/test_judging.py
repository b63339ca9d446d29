from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ingestion.curation import merging, undoing
from ingestion.models import (
    Alias,
    Claim,
    Entity,
    Evidence,
    Fragment,
    Mention,
    MergeSuggestion,
    Relationship,
    ResolutionDecision,
    Verdict,
)
from ingestion.resolution import queries as resolution_queries
from ingestion.resolution.keys import pair_of
from ingestion.stages.resolve import judging
from kb_project.errors import ConflictError, EndpointError
from kb_project.llm.fake import FakeChat
from tests import rows
from tests.ingestion.stages.resolve.said import Said, all_of, judge, paper, run
from workspaces import access
from workspaces.models import User, Workspace

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]

PERSON = "person"
MARLEY = Said(
    [("Jacob Marley", PERSON), ("London", "place")],
    notes=[(0, "A partner of Scrooge.")],
    links=[(0, 1, "Marley traded in London.")],
    claims=[(0, 1, "Marley was a partner in London.")],
)
MARLAY = Said(
    [("Jacob Marlez", PERSON), ("Cornhill", "place")],
    notes=[(0, "Dead these seven years.")],
    links=[(0, 1, "Marley worked in Cornhill.")],
)


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


@pytest.fixture
def alice(workspace: Workspace) -> User:
    return rows.make_user("Alice")


def graph(workspace: Workspace) -> list[Any]:
    """Everything resolution wrote that outlives the entities without mentions."""
    with access.in_workspace(workspace.pk):
        named = set(Mention.objects.in_workspace(workspace).values_list("entity_id", flat=True))
        linked = set(Evidence.objects.in_workspace(workspace).values_list("relationship_id"))
    return [
        sorted(named),
        sorted(linked),
        [row for row in all_of(workspace, Entity, "id", "key", "sense") if row[0] in named],
        all_of(workspace, Mention, "surface", "start", "entity_id", "document__name"),
        all_of(workspace, Evidence, "relationship_id", "description", "document__name"),
        all_of(workspace, Fragment, "entity_id", "text", "document__name"),
        all_of(workspace, Claim, "subject_id", "object_id", "description"),
        all_of(workspace, Alias, "entity_id", "key", "name"),
    ]


def named(workspace: Workspace) -> list[str]:
    return sorted(set(all_of(workspace, Mention, "entity__key")))


def entity(workspace: Workspace, key: str) -> Entity:
    with access.in_workspace(workspace.pk):
        return Entity.objects.in_workspace(workspace).get(key=key, sense=0)


def decided(workspace: Workspace) -> list[ResolutionDecision]:
    with access.in_workspace(workspace.pk):
        return list(ResolutionDecision.objects.in_workspace(workspace).order_by("created_at", "id"))


def test_a_pair_judged_the_same_is_read_as_one_at_once(workspace: Workspace):
    chat = judge(lambda _: "same")

    run(paper(workspace, "a", MARLEY), paper(workspace, "b", MARLAY), chat=chat)

    [decision] = decided(workspace)
    assert named(workspace) == ["cornhill", "jacob marley", "london"]
    assert (decision.left_key, decision.right_key) == ("jacob marley", "jacob marlez")
    assert (decision.verdict, decision.by, decision.model) == ("same", "model", "fake-model")
    assert decision.reason == "They are same."
    assert all_of(workspace, Relationship, "source__key", "target__key")[0][0] == "jacob marley"
    assert set(all_of(workspace, Fragment, "entity__key")) == {"jacob marley"}
    assert set(all_of(workspace, Alias, "entity__key", "name")) >= {
        ("jacob marley", "Jacob Marley"),
        ("jacob marley", "Jacob Marlez"),
    }


def test_both_sides_stand_fenced_in_the_prompt(workspace: Workspace):
    chat = judge(lambda _: "unsure")

    run(paper(workspace, "a", MARLEY), paper(workspace, "b", MARLAY), chat=chat)

    [request] = chat.requests
    first, _, second = request.prompt.user.partition("<second>")
    assert "<first>" in first
    assert "A partner of Scrooge." in first
    assert "Dead these seven years." in second
    assert request.about.stage == "resolve"


def test_a_pair_is_asked_about_once(workspace: Workspace):
    jobs = [paper(workspace, "a", MARLEY), paper(workspace, "b", MARLAY)]
    run(*jobs, chat=judge(lambda _: "unsure"))
    chat = judge(lambda _: "same")
    run(*jobs, chat=chat)

    assert chat.requests == []
    assert [one.verdict for one in decided(workspace)] == ["unsure"]
    assert all_of(workspace, MergeSuggestion, "state") == ["open"]


def test_names_found_alike_after_a_refresh_are_not_asked_about(workspace: Workspace):
    """A suggestion about known names is for a person: an edit elsewhere asks nothing about it."""
    jobs = [paper(workspace, "a", MARLEY), paper(workspace, "b", MARLAY)]
    run(*jobs)
    with access.in_workspace(workspace.pk):
        Entity.objects.in_workspace(workspace).update(written_by="joined")
    chat = judge(lambda _: "same")

    run(*jobs, chat=chat)

    assert chat.requests == []
    assert all_of(workspace, MergeSuggestion, "state") == ["open"]


def test_a_pair_judged_to_differ_is_never_suggested_again(workspace: Workspace):
    jobs = [paper(workspace, "a", MARLEY), paper(workspace, "b", MARLAY)]
    run(*jobs, chat=judge(lambda _: "different"))
    with access.in_workspace(workspace.pk):
        assert MergeSuggestion.objects.in_workspace(workspace).get().state == "rejected"
        MergeSuggestion.objects.in_workspace(workspace).delete()

    run(*jobs)

    assert all_of(workspace, MergeSuggestion, "id") == []
    assert "jacob marlez" in named(workspace)


def test_no_usable_answer_leaves_suggestion_and_document_as_they_were(workspace: Workspace):
    jobs = [paper(workspace, "a", MARLEY), paper(workspace, "b", MARLAY)]
    run(*jobs)
    before = graph(workspace)

    outcomes = run(*jobs, chat=judge(lambda _: ""))

    assert graph(workspace) == before
    assert decided(workspace) == []
    assert all_of(workspace, MergeSuggestion, "state") == ["open"]
    [sentence] = [warning for outcome in outcomes for warning in outcome.warnings]
    assert "no usable answer to 1 question" in sentence


def test_work_that_must_wait_keeps_what_was_resolved(workspace: Workspace):
    chat = FakeChat(lambda _: EndpointError("Away."))
    jobs = [paper(workspace, "a", MARLEY), paper(workspace, "b", MARLAY)]

    with pytest.raises(EndpointError):
        run(*jobs, chat=chat)

    assert decided(workspace) == []
    assert len(named(workspace)) == 4


def test_names_that_differ_in_a_digit_are_never_asked_about(workspace: Workspace):
    chat = judge(lambda _: "same")

    run(paper(workspace, "a", Said([("Lamp MB-21", "x"), ("Lamp MB-22", "x")])), chat=chat)

    assert chat.requests == []


def test_questions_are_bounded_by_document(workspace: Workspace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ingestion.stages.resolve.judging.MOST_QUESTIONS", 2)
    names = [(f"Jacob Marle{letter}", PERSON) for letter in "abcde"]
    chat = judge(lambda _: "unsure")

    run(paper(workspace, "a", Said(names)), chat=chat)

    assert len(chat.requests) == 2


# --- third names ----------------------------------------------------------------------------------
A, B, C = "Jacob Marlea", "Jacob Marleb", "Jacob Marlec"


def three(workspace: Workspace) -> Any:
    return paper(workspace, "a", Said([(A, PERSON), (B, PERSON), (C, PERSON)]))


def except_for(*names: str, verdict: str) -> FakeChat:
    def opinion(prompt: str) -> str:
        shown = all(f"Name: {name}" in prompt for name in names)
        return verdict if shown else "same"

    return judge(opinion)


@pytest.mark.parametrize("verdict", ["different", "unsure"])
def test_a_third_name_does_not_follow_where_it_was_judged_apart(workspace: Workspace, verdict: str):
    chat = except_for(A, C, verdict=verdict)

    run(three(workspace), chat=chat)

    assert len(chat.requests) == 3
    assert named(workspace) == ["jacob marlea", "jacob marlec"]
    with access.in_workspace(workspace.pk):
        found = resolution_queries.decisions(workspace=workspace)
        views = resolution_queries.decision_views(workspace=workspace, rows=found)
    left_out = [one for one in views if one.is_conflicting or one.is_waiting]
    assert [one.is_waiting for one in left_out] == [verdict == "unsure"]


def test_three_names_become_one_where_every_pair_was_judged(workspace: Workspace):
    chat = judge(lambda _: "same")

    run(three(workspace), chat=chat)

    assert len(chat.requests) == 3
    assert named(workspace) == ["jacob marlea"]


def test_a_third_name_that_was_never_compared_is_judged_first(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("ingestion.stages.resolve.applying.MOST_NEAR", 1)
    chat = judge(lambda _: "same")

    run(three(workspace), chat=chat)

    asked = [one.prompt.user for one in chat.requests]
    assert len(asked) == 3
    assert named(workspace) == ["jacob marlea"]


# --- people ---------------------------------------------------------------------------------------
def test_a_person_wins_over_the_model_now_and_on_the_next_run(workspace: Workspace, alice: User):
    jobs = [paper(workspace, "a", MARLEY), paper(workspace, "b", MARLAY)]
    run(*jobs)
    left, right = entity(workspace, "jacob marley"), entity(workspace, "jacob marlez")
    merging.decision_record(
        workspace=workspace,
        user=alice,
        left=right,
        right=left,
        verdict=Verdict.DIFFERENT,
        reason="Father and son.",
    )
    chat = judge(lambda _: "same")

    run(*jobs, chat=chat)

    assert chat.requests == []
    assert {"jacob marley", "jacob marlez"} <= set(named(workspace))
    assert all_of(workspace, MergeSuggestion, "state") == ["rejected"]


def test_a_person_parts_what_the_model_joined(workspace: Workspace, alice: User):
    jobs = [paper(workspace, "a", MARLEY), paper(workspace, "b", MARLAY)]
    run(*jobs)
    before = graph(workspace)
    left, right = entity(workspace, "jacob marley"), entity(workspace, "jacob marlez")
    run(*jobs, chat=judge(lambda _: "same"))
    assert graph(workspace) != before

    merging.decision_record(
        workspace=workspace, user=alice, left=left, right=right, verdict=Verdict.DIFFERENT
    )

    assert graph(workspace) == before


def test_taking_a_decision_back_gives_the_former_graph_exactly(workspace: Workspace, alice: User):
    jobs = [paper(workspace, "a", MARLEY), paper(workspace, "b", MARLAY)]
    run(*jobs)
    before = graph(workspace)
    run(*jobs, chat=judge(lambda _: "same"))
    [decision] = decided(workspace)

    undoing.decision_undo(workspace=workspace, decision=decision, user=alice)

    assert graph(workspace) == before
    assert all_of(workspace, MergeSuggestion, "state") == ["open"]


def test_what_was_taken_back_is_not_asked_about_again(workspace: Workspace, alice: User):
    jobs = [paper(workspace, "a", MARLEY), paper(workspace, "b", MARLAY)]
    run(*jobs, chat=judge(lambda _: "same"))
    [decision] = decided(workspace)
    undoing.decision_undo(workspace=workspace, decision=decision, user=alice)
    chat = judge(lambda _: "same")

    run(*jobs, chat=chat)

    assert chat.requests == []
    with pytest.raises(ConflictError):
        undoing.decision_undo(workspace=workspace, decision=decision, user=alice)


def test_a_person_cannot_link_a_name_that_is_one_with_another(workspace: Workspace, alice: User):
    run(three(workspace))
    keys = ["jacob marlea", "jacob marleb", "jacob marlec"]
    a, b, c = [entity(workspace, key) for key in keys]
    for left, right, verdict in ((a, c, "different"), (a, b, "same")):
        merging.decision_record(
            workspace=workspace, user=alice, left=left, right=right, verdict=Verdict(verdict)
        )

    with pytest.raises(ConflictError) as refused:
        merging.decision_record(
            workspace=workspace, user=alice, left=b, right=c, verdict=Verdict.SAME
        )

    assert refused.value.code == "merged_away"
    assert named(workspace) == ["jacob marlea", "jacob marlec"]


def test_two_directions_stay_two_relationships_with_their_own_evidence(workspace: Workspace):
    said = Said([("Ada", PERSON), ("Bo", PERSON)], links=[(0, 1, "Sells."), (1, 0, "Buys.")])

    run(paper(workspace, "a", said))

    assert all_of(workspace, Evidence, "relationship__source__key", "description", "keywords") == [
        ("ada", "Sells.", ["trade"]),
        ("bo", "Buys.", ["trade"]),
    ]


def test_a_pairs_left_name_sorts_first():
    assert pair_of("b", "a") == pair_of("a", "b") == ("a", "b")
    assert judging.plain("a\0b\n c") == "ab c"

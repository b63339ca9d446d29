from __future__ import annotations

import pytest

from kb_project.ports import build_ports
from kb_project.text.regions import Region, RegionKind
from retrieval.answering import extractive, places, ranking
from retrieval.models import Outcome
from retrieval.search.query import Query, QuestionVector, ScoredChunk
from retrieval.search.results import hydrate
from tests import rows
from tests.retrieval.answering.passages import gathered, hit, ranking_of, said
from workspaces import access

LEASE = hit(
    "4.1 The rent is due on the first day of a month.\n\n"
    "4.2 The keeper may sublet the lower store.\n\nThe Trust is told before.\n\n"
    "4.3 The keeper pays for:\n\n(a) the oil of the lamp;\n\n(b) all broken panes.\n\n"
    "10 Notices are given in writing.",
    title="Lease of the lighthouse",
)


def chosen(question, *hits):
    made = gathered(question, *hits)
    return extractive.choose(made, ranking.rank(made))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "What does clause 4.2 say about guests?",
            ["4.2 The keeper may sublet the lower store.", "The Trust is told before."],
        ),
        ("who pays for panes, § 4.3 (b)", ["all broken panes."]),
        ("Section 10", ["10 Notices are given in writing."]),
    ],
)
def test_a_place_is_answered_whole_by_what_stands_there(question, answer):
    choice = chosen(question, LEASE, hit("Guests are guests of the Trust.", title="Guests"))

    assert (choice.outcome, said(choice)) == (Outcome.ANSWERED, answer)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Under clause 4.2 of the lease, the keeper paid for the oil.", Outcome.UNSURE),
        ("Under clause 14.2 of the lease, the keeper paid for the oil.", Outcome.ANSWERED),
    ],
)
def test_a_place_that_no_document_has_or_speaks_of_is_no_answer(text, outcome):
    made = gathered("What does clause 14.2 of the lease say about oil?", hit(text))

    choice = extractive.choose(made, ranking_of(made, shares=[1.0], probability=0.9))

    assert choice.outcome is outcome


def test_of_two_documents_with_a_place_the_one_that_the_question_names_is_meant():
    boat = hit("4.1 Boats are hired by the day.", title="Hire of the boat")

    for question, answer in (
        ("clause 4.1 of the lease", "4.1 The rent is due on the first day of a month."),
        ("clause 4.1 on the hire of boats", "4.1 Boats are hired by the day."),
    ):
        assert said(chosen(question, LEASE, boat)) == [answer]


def test_a_law_that_is_called_by_a_number_is_no_section_of_another_document():
    law = hit("Section 10 grants help those who keep goats.", title="Goats")

    assert said(chosen("What are section 10 grants for goats?", LEASE, law)) == [law.text]


def test_a_step_is_an_entry_of_the_list_that_fits():
    text = (
        "To light the lamp:\n\n1. Open the valve.\n2. Strike a match.\n\n"
        "To trim the wick:\n\n1. Close the valve.\n2. Cut the wick straight."
    )
    assert said(chosen("step 2 of trimming the wick", hit(text))) == ["Cut the wick straight."]


def test_what_stands_below_a_numbered_heading_is_its_place():
    text = (
        "Schedule 2 - Stores\n\nTwo casks of oil are kept.\n\nSchedule 3 - Boats\n\nNone is kept."
    )
    regions = tuple(
        Region(RegionKind.HEADING, text.index(title), text.index(title) + len(title), 1)
        for title in ("Schedule 2 - Stores", "Schedule 3 - Boats")
    )

    choice = chosen("what's in schedule 2 of the lease?", hit(text, regions=regions))

    assert said(choice) == ["Two casks of oil are kept."]


def test_a_version_is_the_section_of_its_number():
    section = hit("4.8 The pumps of the tower are oiled.", title="Manual")
    text = "4.8.1 (May 1866)\n\nThe lens no longer sticks."
    heading = (Region(RegionKind.HEADING, 0, 16, 1),)

    choice = chosen("anything new in version 4.8?", section, hit(text, regions=heading))

    assert said(choice) == ["The lens no longer sticks."]


def test_the_article_of_a_chinese_law_is_its_place():
    law = hit("第一条 灯塔由看守人管理。\n\n第二条 油由信托提供。", title="灯塔管理办法")

    assert said(chosen("第二条规定了什么？", law)) == ["第二条 油由信托提供。"]


@pytest.mark.django_db
@pytest.mark.usefixtures("fake_embedder")
def test_the_passage_of_a_place_joins_those_of_its_document_that_were_found():
    workspace = rows.make_cast().workspace
    document = rows.make_document(
        workspace, "Lease", "1.1 The lamp burns oil.\n\n2.1 Goats graze freely.\n"
    )
    question = "what does 2.1 say, clause 2.1 on animals"
    query = Query(workspace.pk, question, 5, QuestionVector(build_ports().embedder, question))
    with access.in_workspace(workspace.pk):
        first, second = rows.chunks_of(document)
        found = hydrate(workspace.pk, [ScoredChunk(first.pk, 1.0)])

        joined = places.with_place(query, found)

    assert [one.chunk_id for one in joined] == [first.pk, second.pk]

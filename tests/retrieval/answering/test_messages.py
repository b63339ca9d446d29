from __future__ import annotations

import pytest

from kb_project.ports import build_ports
from retrieval.answering import extractive
from retrieval.search.query import Query, QuestionVector, ScoredChunk
from retrieval.search.results import hydrate
from tests import rows
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

THREAD = """\
From: Ada Lind <ada@trust.test>
To: Bram Tor <bram@trust.test>
Date: Thu, 12 Feb 2026 16:42:10 +0000
Subject: The lens

The lens leaves the quay on Monday with the boat.

-----Original Message-----
From: Bram Tor
Sent: 11 February 2026 11:05
Subject: The lens

The crew in Orran asks again when the lens comes to the tower.
"""


def answer(question, text=THREAD, title="The lens"):
    workspace = rows.make_cast().workspace
    document = rows.make_document(workspace, title, text)
    query = Query(workspace.pk, question, 5, QuestionVector(build_ports().embedder, question))
    with access.in_workspace(workspace.pk):
        found = [ScoredChunk(one.pk, 1.0) for one in rows.chunks_of(document)]
        hits = hydrate(workspace.pk, found)
    made = extractive.extract(query, hits, [(question, None)])
    return [one.candidate.said for one in made.choice.chosen]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Who wrote that the lens leaves the quay?", "From: Ada Lind <ada@trust.test>"),
        ("Who mailed that the crew in Orran asks for the lens?", "From: Bram Tor"),
        ("Who wrote last that the crew in Orran asks?", "From: Ada Lind <ada@trust.test>"),
        ("When did Bram write about the lens?", "Sent: 11 February 2026 11:05"),
        ("When was the mail about the lens sent?", "Date: Thu, 12 Feb 2026 16:42:10 +0000"),
    ],
)
def test_who_wrote_a_message_and_when_stands_above_it(question, first):
    said = answer(question)

    assert said[0] == first
    assert {one.split(":")[0] for one in said} in ({"From", "Date"}, {"From", "Sent"})


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who wrote about the price of goats in June?", THREAD),
        ("What leaves the quay on Monday?", THREAD),
        ("Who wrote about the lens of the tower?", "A letter about the lens of the tower came."),
    ],
)
def test_no_other_question_is_answered_by_the_head_of_a_message(question, text):
    assert not any(one.startswith("From:") for one in answer(question, text))

from __future__ import annotations

import pytest

from kb_project.ports import build_ports
from retrieval.models import Outcome
from tests import rows
from tests.retrieval.answering.scripted import asked

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

MINUTES = """\
Present: Ada Lind, Bram Tor

The tower leaks near its door. Decision: the tower is painted in May. Bram was against it.

The boat was talked about.

Decided:
- The boat gets a new mast.
- Tickets cost nine shillings.

The next meeting is in June.
"""


@pytest.fixture
def cast(fake_embedder):
    cast = rows.make_cast("Harbour")
    embedder = build_ports().embedder
    rows.make_document(cast.workspace, "Spring meeting", MINUTES, embedder=embedder)
    rows.make_document(cast.workspace, "The tower", "The tower has a lamp.", embedder=embedder)
    return cast


@pytest.mark.parametrize(
    "question",
    ["What was decided in the spring meeting?", "what did we agree on in the spring meeting"],
)
def test_what_was_decided_in_a_meeting_is_all_that_its_minutes_say_so_of(cast, question):
    draft = asked(cast, question, mode="hybrid")

    assert draft.outcome == Outcome.ANSWERED
    assert [one.text for one in draft.sentences] == [
        "Decision: the tower is painted in May.",
        "Decided:",
        "The boat gets a new mast.",
        "Tickets cost nine shillings.",
    ]
    assert all(one.spans for one in draft.sentences)


def test_what_a_meeting_talked_about_is_an_overview_of_it(cast):
    draft = asked(cast, "What was discussed in the spring meeting?", mode="hybrid")

    assert draft.trace["is_overview"]
    assert draft.sentences[0].text.startswith("Spring meeting (")

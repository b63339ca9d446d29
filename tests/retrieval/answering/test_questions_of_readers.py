"""Questions as readers word them, of kinds that were once refused or answered beside the point.

The model of meaning is the product's own; the documents are small ones of like structure.
"""

from __future__ import annotations

import pytest

from ingestion.vectors import sentences
from kb_project.ports import build_ports
from retrieval.models import Outcome
from tests import rows
from tests.retrieval.answering.scripted import asked

pytestmark = pytest.mark.django_db

HISTORY = """The Tern project was begun by Ida Jansen in 1993. It is a free system for small boats.

Hal Orme succeeded Ida Jansen as project leader in January of 1999. He had looked after its mail.

Tern 2.0 (Gannet) was released in July 1998. The release held some 1,500 packages and worked on two
architectures. Tern 2.1 (Fulmar) followed in March 1999.

Tern is made by volunteers around the world. About 1,012 developers maintain its packages today.

The archive is refreshed four times a day. Copies of it stand on mirrors in forty countries."""

BACKUPS = """Backups are made with rsync every night. The old copies are kept as hard links.

A disc that burns takes the copies beside it along. So each of the seven sites holds a copy of
another one's, and a fire destroys one of the two at most.

The squid proxy answers for pages that were fetched before. The Z shell is there for those who want
it. Passwords are never part of a copy."""

STORY = """The miser Ebenezer Crane is the surviving partner of Crane and Hollow. Tom Perry is his
clerk.

The spirits that visit Crane:
- The Spirit of Years Gone, a phantom that shows what was
- The Spirit of This Year, of a kind and hearty nature
- The Spirit of Years to Come, which shows what may yet be

On the last morning Crane sent the prize turkey to the Perrys. He raised the wages of Tom Perry,
whose employer he was. "And Tiny Will?" asked the boy in the road."""

TEXTS = {"History of Tern": HISTORY, "Backups": BACKUPS, "A winter's tale": STORY}


@pytest.fixture(scope="module")
def cast(rows_of_the_module: None):
    cast, embedder = rows.make_cast(), build_ports().embedder
    for title, text in TEXTS.items():
        document = rows.make_document(cast.workspace, title, text, embedder=embedder)
        sentences.make(cast.workspace.pk, rows.chunks_of(document), embedder)
    rows.make_snapshot(cast.workspace)
    return cast


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Who succeeded Ida Jansen as project leader?", "Hal Orme succeeded"),
        ("Who succeeded Ida Jansen?", "Hal Orme succeeded"),
        ("When was Gannet released?", "July 1998"),
        ("How many developers does Tern have?", "1,012 developers"),
        ("How often does the archive get refreshed?", "four times a day"),
        ("What keeps a fire from wiping out the backups?", "seven sites"),
        ("What did Crane send to the Perrys?", "prize turkey"),
        ("Who is the employer of Tom Perry?", "wages of Tom Perry"),
    ],
)
def test_what_the_documents_say_is_told_in_two_sentences(cast, question, words):
    draft = asked(cast, question, mode="hybrid")

    assert draft.outcome == Outcome.ANSWERED
    assert len(draft.sentences) <= 2
    assert words in " ".join(one.text for one in draft.sentences)


def test_a_question_in_two_parts_has_an_answer_to_each(cast):
    draft = asked(
        cast, "When did Gannet come out and how many packages did it have?", mode="hybrid"
    )

    told = " ".join(one.text for one in draft.sentences)
    assert draft.outcome == Outcome.ANSWERED
    assert "July 1998" in told
    assert "1,500 packages" in told


def test_a_question_for_a_list_has_its_entries(cast):
    draft = asked(cast, "What are the three spirits that visit Crane?", mode="hybrid")

    assert [one.text.split(",")[0] for one in draft.sentences] == [
        "The Spirit of Years Gone",
        "The Spirit of This Year",
        "The Spirit of Years to Come",
    ]


@pytest.mark.parametrize(
    "question",
    [
        "How do I configure nginx as a reverse proxy?",
        "Which film won the prize at Cannes in 1987?",
        "How do I pair Bluetooth headphones?",
    ],
)
def test_what_the_documents_do_not_say_is_not_answered(cast, question):
    draft = asked(cast, question, mode="hybrid")

    assert draft.outcome != Outcome.ANSWERED
    assert draft.sentences == []

from __future__ import annotations

import re
from uuid import UUID

import pytest

from ingestion.models import Chunk, Claim, Conflict, ConflictSide, Entity, Mention
from retrieval.answering.conflicts import differing
from retrieval.answering.drafts import ChunkSpan
from retrieval.search.results import Hit
from retrieval.search.scope import Scope
from tests import rows
from tests.retrieval.answering.scripted import asked, make_cast, model
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

CAME = "When did Ada Lind come to Skarrow?"


@pytest.fixture
def cast(fake_embedder):
    return make_cast()


def hit(text, number=0, title="Title"):
    return Hit(
        UUID(int=number), UUID(int=100 + number), title, (), None, 0, len(text), 1.0, text, ()
    )


def clashes(*texts):
    hits = [hit(text, number) for number, text in enumerate(texts)]
    sides = [ChunkSpan(hits[0].chunk_id, 0, len(texts[0]))]
    return list(differing(sides, hits))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada Lind came to Skarrow on 11 May 1987.", "Ada Lind came to Skarrow on 12 June 1988."),
        ("The Orran light is 40 metres tall.", "The Orran light is 38 metres tall."),
        (
            "In 1987 the Orran light burned 40 barrels.",
            "In 1987 the Orran light burned 50 barrels.",
        ),
        ("Ada Lind is old. She came to Skarrow in 1987.", "Ada Lind came to Skarrow in 1988."),
        ("Built in 1850, the Orran light is tall.", "Built in 1851, the Orran light is tall."),
    ],
)
def test_two_sentences_that_differ_in_a_value_alone_clash(one, other):
    assert len(clashes(one, other)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada Lind came to Skarrow in 1987.", "Ada Lind came to Skarrow in 1987 by boat."),
        ("Ada Lind came to Skarrow in 1987.", "Bo Strand came to Skarrow in 1988."),
        (
            "In 1987 the Orran light burned 40 barrels.",
            "In 1988 the Orran light burned 50 barrels.",
        ),
        ("The Orran light is 40 metres tall.", "The Orran light is tall."),
        ("The Orran light is 40 metres tall.", "The road is closed for 38 days."),
        ("It has 3 doors.", "It has 4 doors."),
        ("* Copyright 2020 Ada Lind Orran.", "* Copyright 2018 Ada Lind Orran."),
        ("fn read(idx: u8) { orran_light_keeper }", "fn read(idx: u9) { orran_light_keeper }"),
        ("Ada Lind may come to Skarrow 3 times.", "Ada Lind may come to Skarrow."),
    ],
)
def test_a_series_another_subject_or_a_detail_more_is_no_clash(one, other):
    assert clashes(one, other) == []


def test_the_film_is_what_each_document_is_about():
    one = hit("The film was released in 1940 by Universal Pictures.", 1, title="The Devil's Hour")
    other = hit("The film was released in 1925 by Universal Pictures.", 2, title="Dark Harbour")

    assert list(differing([ChunkSpan(one.chunk_id, 0, 30)], [one, other])) == []


def test_within_one_document_values_are_a_list_and_no_clash():
    one = hit("The Orran light is 40 metres tall. The Orran light is 38 metres tall.")

    assert list(differing([ChunkSpan(one.chunk_id, 0, 30)], [one])) == []


def test_a_written_answer_shows_both_sides(cast, monkeypatch):
    def says(request):
        before = request.prompt.user.partition("She came to Skarrow")[0]
        number = re.findall(r"^\[(\d+)\]$", before, re.MULTILINE)[-1]
        return f"She came to Skarrow on 11 May 1987 [{number}]."

    model(monkeypatch, says)

    draft = asked(cast, CAME)

    [sentence] = draft.sentences
    assert sentence.check.verdict == "conflict"
    assert len(sentence.numbers) == 2
    quotes = {one.quote for one in draft.citations}
    assert quotes == {
        "She came to Skarrow on 11 May 1987.",
        "Ada Lind came to Skarrow on 12 June 1988 by boat.",
    }
    assert draft.is_supported
    assert draft.trace["check"]["conflict"] == 1
    assert "sources_differ" in [note["code"] for note in draft.trace["notes"]]


def test_an_extractive_answer_says_both_sides(cast):
    draft = asked(cast, CAME, mode="hybrid")

    said = {one.text: one.check.verdict for one in draft.sentences}
    assert said["She came to Skarrow on 11 May 1987."] == "conflict"
    assert said["Ada Lind came to Skarrow on 12 June 1988 by boat."] == "conflict"


def place(cast, words):
    with access.in_workspace(cast.workspace.pk):
        chunk = Chunk.objects.in_workspace(cast.workspace).get(text__contains=words)
        start = chunk.start + chunk.text.index(words)
        return chunk, start, start + len(words)


def test_contradictions_found_before_are_shown_with_their_other_side(cast):
    oil, start, end = place(cast, "The lamp burns oil")
    road, road_start, road_end = place(cast, "The quarry road is closed in winter.")
    with access.in_workspace(cast.workspace.pk):
        ada = Entity.objects.in_workspace(cast.workspace).get(name="Ada Lind")
        Mention.objects.create(
            workspace=cast.workspace, entity=ada, chunk=oil, document=oil.document,
            start=start, end=start + 3, surface="Ada", type="person", source="ner",
        )  # fmt: skip
        statements = [
            {"text": "oil", "chunk": str(oil.pk), "start": start, "end": end},
            {"text": "road", "chunk": str(road.pk), "start": road_start, "end": road_end},
        ]
        ada.conflicts = [{"reason": "They differ.", "statements": statements}]
        ada.save()

    draft = asked(cast, "What does the lamp burn?")
    scoped = asked(cast, "What does the lamp burn?", scope=Scope(documents=(oil.document_id,)))

    assert [one.check.verdict for one in draft.sentences][:2] == ["conflict", "conflict"]
    assert road.pk in {one.chunk_id for one in draft.citations}
    assert {one.document_id for one in scoped.citations} == {oil.document_id}


def test_what_people_decided_counts(cast):
    """The source that holds comes first; where all are right, nothing is said."""
    early, late = "She came to Skarrow on 11 May 1987.", "Ada Lind came to Skarrow on 12 June 1988"
    with access.in_workspace(cast.workspace.pk):
        ada = Entity.objects.in_workspace(cast.workspace).get(name="Ada Lind")
        conflict = Conflict.objects.create(
            workspace=cast.workspace, subject=ada, kind="values", about="a", topic="when she came",
            state="decided", holds="date:1988-6-12",
        )  # fmt: skip
        for words, key in ((early, "date:1987-5-11"), (late, "date:1988-6-12")):
            chunk, start, end = place(cast, words)
            ConflictSide.objects.create(
                workspace=cast.workspace, conflict=conflict, chunk=chunk, document=chunk.document,
                ordinal=0, start=start, end=end, value=key, key=key,
            )  # fmt: skip

    decided = asked(cast, CAME, mode="hybrid")
    with access.in_workspace(cast.workspace.pk):
        Conflict.objects.in_workspace(cast.workspace).update(holds="")
    both = asked(cast, CAME, mode="hybrid")

    said = [(one.text[:12], one.check.verdict, one.check.by) for one in decided.sentences]
    assert ("She came to ", "conflict", "decision") in said
    texts = [one.text for one in decided.sentences]
    held = next(place for place, text in enumerate(texts) if text.startswith(late))
    assert held < texts.index(early)
    assert "sources_decided" in [note["code"] for note in decided.trace["notes"]]
    assert "conflict" not in {one.check.verdict for one in both.sentences}


@pytest.mark.parametrize("is_moved", [False, True])
def test_an_other_side_that_is_left_out_or_out_of_place_is_not_shown(cast, is_moved):
    oil, start, end = place(cast, "The lamp burns oil")
    road, road_start, road_end = place(cast, "The quarry road")
    with access.in_workspace(cast.workspace.pk):
        quarry = rows.make_entity(cast.workspace, "Quarry")
        ada = Entity.objects.in_workspace(cast.workspace).get(name="Ada Lind")
        for entity, chunk in ((ada, oil), (quarry, road)):
            Mention.objects.create(
                workspace=cast.workspace, entity=entity, chunk=chunk, document=chunk.document,
                start=chunk.start, end=chunk.start + 3, surface="x", type="person", source="ner",
            )  # fmt: skip
        beyond = len(road.text) if is_moved else 0
        statements = [
            {"text": "oil", "chunk": str(oil.pk), "start": start, "end": end},
            {
                "text": "road",
                "chunk": str(road.pk),
                "start": road_start + beyond,
                "end": road_end + beyond,
            },
        ]
        ada.conflicts = [{"reason": "They differ.", "statements": statements}]
        ada.save()
    scope = Scope() if is_moved else Scope(exclude=(quarry.pk,))

    draft = asked(cast, "What does the lamp burn?", scope=scope)

    assert draft.sentences[0].check.verdict == "supported"
    assert road.pk not in {one.chunk_id for one in draft.citations}


def test_claims_held_true_and_false_are_shown_both(cast):
    with access.in_workspace(cast.workspace.pk):
        ada = Entity.objects.in_workspace(cast.workspace).get(name="Ada Lind")
    for words, status in (("The lamp burns oil", "true"), ("The quarry road", "false")):
        chunk, start, end = place(cast, words)
        with access.in_workspace(cast.workspace.pk):
            Claim.objects.create(
                workspace=cast.workspace, subject=ada, chunk=chunk, document=chunk.document,
                type="FUEL", status=status, description="x", start=start, end=end,
            )  # fmt: skip

    draft = asked(cast, "What does the lamp burn?")

    assert draft.sentences[0].check.verdict == "conflict"
    assert "The quarry road" in {one.quote for one in draft.citations}

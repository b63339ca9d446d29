from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from ingestion.models import Claim, WalkSnapshot
from retrieval.search import local
from retrieval.search.modes import MODES
from retrieval.search.results import ByRows, RecordKind
from tests import rows
from tests.retrieval.search.films import all_text, describe, make_films, titles
from workspaces import access

search = ByRows(local.search)
passages = ByRows(local.passages)

pytestmark = pytest.mark.django_db


@pytest.fixture
def films():
    return make_films()


def make_claim(films, text, title, *, subject=None):
    chunk = films.chunk(title)
    with access.in_workspace(films.workspace.pk):
        return Claim.objects.create(
            workspace=films.workspace,
            subject=subject or films.ada,
            chunk=chunk,
            document=films.documents[title],
            type="conduct",
            status=Claim.Status.SUSPECTED,
            period_start="1931",
            period_end="1932",
            description=text,
            start=chunk.start,
            end=chunk.end,
        )


def make_report(films, title, members, chunks, *, rating=5.0):
    report = rows.make_report(films.workspace, title, members, [films.chunk(one) for one in chunks])
    report.rating = rating
    with access.in_workspace(films.workspace.pk):
        report.save(update_fields=["rating"])
    return report


def test_the_context_has_the_documented_proportions():
    shares = MODES["local"].shares

    assert (shares.reports, shares.passages, shares.records) == (0.15, 0.5, 0.35)


def test_reports_entities_relationships_and_claims_come_in_this_order(films):
    make_report(films, "Films", [films.ada, films.song], ["Tide Song"])
    make_claim(films, "She hid.", "Letters")

    kinds = [record.kind for record in search(films.query()).records]

    order = [RecordKind.REPORT, RecordKind.ENTITY, RecordKind.RELATIONSHIP, RecordKind.CLAIM]
    assert list(dict.fromkeys(kinds)) == order
    assert kinds == sorted(kinds, key=order.index)


def test_reports_go_by_matched_entities_and_then_by_rating(films):
    make_report(films, "One name, high", [films.strand], ["Ada Lind"], rating=9)
    make_report(films, "One name, low", [films.song], ["Tide Song"], rating=2)
    make_report(films, "Two names", [films.ada, films.song], ["Tide Song"], rating=1)

    found = search(films.query())

    assert titles(found, RecordKind.REPORT) == ["Two names", "One name, high", "One name, low"]


def test_reports_keep_to_their_share(films):
    long = "word " * 4_000
    for number in range(3):
        report = make_report(films, f"Topic {number}", [films.ada], ["Tide Song"])
        report.summary = long
        with access.in_workspace(films.workspace.pk):
            report.save(update_fields=["summary"])

    assert len(titles(search(films.query()), RecordKind.REPORT)) == 1


def test_facts_keep_to_their_share_entity_by_entity(films):
    long = "word " * 1_500  # fits once: 1,900 of the 4,200 tokens of facts
    with access.in_workspace(films.workspace.pk):
        for link in (films.made, films.answered, films.born):
            link.description = long
            link.save(update_fields=["description"])

    links = titles(search(films.query()), RecordKind.RELATIONSHIP)

    # With Ada Lind all three no longer fit; what the entities before her have stays.
    assert set(links) <= {"Ada Lind → Tide Song", "Tide Song → Ada Lind"}


def test_passages_come_by_entity_and_by_the_facts_they_state(films):
    found = search(films.query())

    by_chunk = {films.chunk(title).pk: title for title in films.documents}
    order = [by_chunk[one] for one in found.reading]
    assert {one.chunk_id for one in found.chunks} >= set(found.reading)
    assert order[0] == "Tide Song"  # two relationships of the film; the letters state one
    assert order.index("Letters") < order.index("Ada Lind")


def test_passages_are_arranged_by_their_entities_and_others_follow():
    one, two, three = (uuid4() for _ in range(3))

    assert local.arranged([one, two, three], [two, uuid4(), three]) == (two, three, one)


def test_claims_say_how_they_stand(films):
    make_claim(films, "She hid.", "Letters")

    claim = next(one for one in search(films.query()).records if one.kind == RecordKind.CLAIM)

    assert claim.title == "conduct: Ada Lind"
    assert claim.text == "She hid. (held suspected, 1931 to 1932)"
    assert claim.sources == (films.chunk("Letters").pk,)


def test_nothing_of_documents_outside_the_scope_is_told(films):
    make_report(films, "The secret of Ada Lind", [films.ada, films.song], ["Tide Song", "Letters"])
    make_report(films, "Secrets", [films.ada], ["Letters"])
    make_claim(films, "She hid.", "Letters")
    make_claim(films, "She had a shop.", "Ada Lind")

    found = search(films.query(only=("Tide Song", "Ada Lind")))

    inside: set[UUID] = {films.chunk("Tide Song").pk, films.chunk("Ada Lind").pk}
    assert {one.chunk_id for one in found.chunks} <= inside
    assert {source for record in found.records for source in record.sources} <= inside
    for secret in ("ecret", "hid", "despised", "failure"):
        assert secret not in all_text(found)
    assert len(titles(found, RecordKind.REPORT)) == 1
    assert len(titles(found, RecordKind.CLAIM)) == 1


def test_a_scoped_report_goes_by_the_names_in_it(films):
    make_report(films, "The secret of Ada Lind", [films.ada, films.song], ["Tide Song", "Letters"])

    report = search(films.query(only=("Tide Song",))).records[0]

    assert report.kind == RecordKind.REPORT
    assert set(report.title.split(", ")) == {"Tide Song", "Ada Lind"}
    assert report.text == "Tide Song is a film of 1931 made by its director Ada Lind."


def test_an_entity_left_out_is_no_record_and_no_seed(films):
    make_claim(films, "She hid.", "Letters")

    found = search(films.query(exclude=(films.ada.pk,)))

    assert films.ada.pk not in {one.id for one in found.records}
    assert films.ada.pk not in {one.id for one in found.seeds}
    assert not titles(found, RecordKind.RELATIONSHIP)
    assert not titles(found, RecordKind.CLAIM)


def test_a_search_does_not_begin_at_a_name_left_out(films):
    asked = "Did Ada Lind or Per Holm mend the road?"
    named = {why for one in search(films.query(asked)).chunks for why in one.why}

    left = search(films.query(asked, exclude=(films.ada.pk,)))

    assert "Mentions “Ada Lind”" in named
    assert "Mentions “Ada Lind”" not in {why for one in left.chunks for why in one.why}


def test_an_entity_to_start_from_comes_first(films):
    describe(films.strand, "A town.", films.chunk("Ada Lind"))

    found = search(films.query(include=(films.strand.pk,)))

    assert titles(found, RecordKind.ENTITY)[0] == "Strand"


@pytest.mark.parametrize("only", [None, ("Tide Song", "Ada Lind")])
@pytest.mark.parametrize("asked", ["", "Did Ada Lind or Per Holm mend the road?", "Who sang?"])
def test_passages_alone_are_those_of_the_whole_search(films, asked: str, only):
    more: dict[str, Any] = {"only": only} if only else {"exclude": (films.strand.pk,)}

    whole = search(films.query(*filter(None, [asked]), **more))

    assert passages(films.query(*filter(None, [asked]), **more)).chunks == whole.chunks
    assert whole.chunks


def test_passages_alone_are_there_without_a_graph_too(films):
    with access.in_workspace(films.workspace.pk):
        WalkSnapshot.objects.in_workspace(films.workspace).delete()

    assert passages(films.query()).chunks == search(films.query()).chunks


def test_without_a_graph_meaning_and_words_are_searched_and_said_so(films):
    with access.in_workspace(films.workspace.pk):
        WalkSnapshot.objects.in_workspace(films.workspace).delete()
    asked = films.query()

    found = search(asked)

    assert found.mode == "hybrid"
    assert [note.code for note in asked.notes] == ["graph_pending"]

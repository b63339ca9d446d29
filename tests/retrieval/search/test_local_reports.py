from __future__ import annotations

import pytest

from ingestion.models import Finding, FindingEvidence
from retrieval.search.local import report_records
from retrieval.search.records import entities_of
from tests import rows
from tests.retrieval.search.films import make_films
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def films():
    return make_films()


def reports(films, *, only=(), budget=10_000.0):
    chosen = [films.ada.pk, films.song.pk]
    with access.in_workspace(films.workspace.pk):
        query = films.query(only=only)
        return report_records(query, chosen, entities_of(query, chosen), budget)


def make_report(films, title="On films", titles=("Tide Song", "Letters")):
    return rows.make_report(
        films.workspace, title, [films.ada, films.song], [films.chunk(one) for one in titles]
    )


def test_a_report_is_its_summary_and_its_findings(films):
    make_report(films)

    (record,) = reports(films)

    assert record.title == "On films"
    assert record.text.splitlines()[0] == "On films"
    assert "Tide Song is a film of 1931" in record.text
    assert set(record.sources) == {films.chunk("Tide Song").pk, films.chunk("Letters").pk}


def test_the_summarys_own_sentences_are_not_told_twice(films):
    report = make_report(films)
    with access.in_workspace(films.workspace.pk):
        finding = Finding.objects.create(
            workspace=films.workspace, report=report, part="summary", ordinal=0, summary="Again."
        )
        chunk = films.chunk("Roads")
        FindingEvidence.objects.create(
            workspace=films.workspace,
            finding=finding,
            report_id=finding.report_id,
            chunk=chunk,
            document=films.documents["Roads"],
            start=chunk.start,
            end=chunk.end,
        )

    (record,) = reports(films)

    assert "Again." not in record.text
    assert record.sources[0] == films.chunk("Roads").pk


def test_a_finding_that_also_rests_on_another_document_is_outside(films):
    report = make_report(films, titles=("Tide Song",))
    chunk = films.chunk("Letters")
    with access.in_workspace(films.workspace.pk):
        finding = Finding.objects.in_workspace(films.workspace).get(report=report)
        FindingEvidence.objects.create(
            workspace=films.workspace,
            finding=finding,
            report_id=finding.report_id,
            chunk=chunk,
            document=films.documents["Letters"],
            start=chunk.start,
            end=chunk.end,
        )

    assert reports(films, only=("Tide Song",)) == []


def test_a_finding_without_a_source_is_told_only_without_a_scope(films):
    report = make_report(films, titles=("Tide Song",))
    with access.in_workspace(films.workspace.pk):
        Finding.objects.create(
            workspace=films.workspace,
            report=report,
            part="finding",
            ordinal=9,
            summary="Unsourced.",
        )

    assert "Unsourced." in reports(films)[0].text
    assert "Unsourced." not in reports(films, only=("Tide Song",))[0].text


def test_a_report_without_any_source_is_no_record(films):
    make_report(films, titles=())

    assert reports(films) == []


def test_the_first_report_is_told_however_long_and_others_as_they_fit(films):
    make_report(films, "First")
    make_report(films, "Second")

    assert len(reports(films, budget=1)) == 1
    assert len(reports(films, budget=10_000)) == 2

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from ingestion.models import (
    Chunk,
    Community,
    Document,
    Entity,
    Finding,
    FindingEvidence,
    IngestionJob,
    JobKind,
    Relationship,
)
from ingestion.models.communities import OTHER_TOPICS, other_topics_id
from ingestion.stage import NO_PROGRESS, Progress, StageOutcome
from ingestion.stages import reports
from ingestion.stages.reports.rows import topics
from ingestion.stages.reports.sql import FINDINGS_OF_CHILDREN
from kb_project.llm.fake import FakeEmbedder
from kb_project.ports import Ports
from kb_project.sql import run_sql
from tests.ingestion.stages.reports.carol import (
    TEXT,
    Carol,
    findings_of,
    make_community,
    mark,
    mark_as_new,
    marked,
    report_of,
)
from tests.memory_graph import MemoryGraphStore
from tests.rows import make_entity, make_workspace
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


def run(workspace: Workspace, progress: Progress = NO_PROGRESS) -> StageOutcome:
    job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
    ports = Ports(embedder=FakeEmbedder(), graph=MemoryGraphStore())
    return reports.run(job, ports, progress)


@pytest.fixture
def carol() -> Carol:
    return Carol()


def test_a_report_has_a_readable_title_a_summary_and_a_rating(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)

    assert run(carol.workspace) == StageOutcome(written=1)

    report = report_of(community)
    assert report.title == "Carol and Scrooge"
    assert report.summary.startswith("Bob Cratchit was the clerk of Scrooge")
    assert 0 < report.rating < 10
    assert report.rating_reason == (
        "5 entities with 4 facts between them, mentioned in 1 document."
    )
    assert report.written_by == "extractive"


def test_every_sentence_of_a_report_is_a_quote_of_its_document(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)

    run(carol.workspace)

    with access.in_workspace(carol.workspace.pk):
        evidence = FindingEvidence.objects.in_workspace(carol.workspace).select_related("finding")
        cited = list(evidence)
        chunks = {chunk.pk: chunk for chunk in Chunk.objects.in_workspace(carol.workspace)}
    said = [f for part in Finding.Part for f in findings_of(community, part)]
    assert {one.finding_id for one in cited} == {finding.pk for finding in said}
    for one in cited:
        assert TEXT[one.start : one.end] == one.finding.summary
        chunk = chunks[one.chunk_id]
        assert chunk.start <= one.start < one.end <= chunk.end
        assert one.document_id == carol.document.pk


def test_the_summary_is_made_of_its_own_findings(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)

    run(carol.workspace)

    sentences = findings_of(community, Finding.Part.SUMMARY)
    assert " ".join(sentence.summary for sentence in sentences) == report_of(community).summary
    assert not {s.summary for s in sentences} & {
        f.summary for f in findings_of(community, Finding.Part.FINDING)
    }


def test_sentences_that_describe_an_entity_are_used_too(carol: Carol):
    with access.in_workspace(carol.workspace.pk):
        chunk = carol.chunks[3]
        source = {"chunk": str(chunk.pk), "start": chunk.start, "end": chunk.end}
        Entity.objects.in_workspace(carol.workspace).filter(pk=carol.tim.pk).update(
            description_sources=[source]
        )
    alone = make_community(carol.workspace, [carol.tim])

    run(carol.workspace)

    assert report_of(alone).summary == "Tiny Tim was the youngest son of Bob Cratchit."


def test_a_sentence_stands_under_its_documents_title_and_headings(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    with access.in_workspace(carol.workspace.pk):
        first = Chunk.objects.in_workspace(carol.workspace).filter(pk=carol.chunks[0].pk)
        first.update(heading_path=["Stave one"])

        topic = topics(carol.workspace.pk, [community.pk])[community.pk]

    assert {one.chunk: one.under for one in topic.sentences} == {
        chunk.pk: ("Carol", "Stave one") if chunk == carol.chunks[0] else ("Carol",)
        for chunk in carol.chunks
    }


def test_a_topic_quotes_what_its_sub_topics_found(carol: Carol):
    parent = make_community(carol.workspace, carol.everybody)
    child = make_community(carol.workspace, [carol.bob, carol.tim], parent=parent)
    make_community(carol.workspace, [carol.scrooge, carol.marley, carol.fred], parent=parent)

    run(carol.workspace)

    quoted = [f.summary for part in Finding.Part for f in findings_of(parent, part)]
    below = [f.summary for f in findings_of(child, Finding.Part.SUMMARY)]
    assert below == ["Tiny Tim was the youngest son of Bob Cratchit."]
    assert below[0] in quoted
    assert report_of(parent).title == "Carol and Scrooge"


def test_only_marked_communities_and_those_above_them_are_written(carol: Carol):
    parent = make_community(carol.workspace, carol.everybody)
    child = make_community(carol.workspace, [carol.bob, carol.tim], parent=parent)
    other = make_community(carol.workspace, [carol.scrooge, carol.fred], parent=parent)
    run(carol.workspace)
    before = report_of(other).created_at
    assert run(carol.workspace) == StageOutcome(written=0)

    with access.in_workspace(carol.workspace.pk):
        link = Relationship.objects.in_workspace(carol.workspace)
        link.filter(source=carol.tim, target=carol.bob).update(weight=9)
    mark(carol.workspace, child)

    assert run(carol.workspace) == StageOutcome(written=2)
    assert report_of(other).created_at == before
    assert marked(carol.workspace) == 0


def test_a_rewritten_report_keeps_its_id_and_has_no_old_findings(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    run(carol.workspace)
    first, said = report_of(community), findings_of(community, Finding.Part.FINDING)

    mark_as_new(carol.workspace, community)
    run(carol.workspace)

    assert report_of(community).pk == first.pk
    again = findings_of(community, Finding.Part.FINDING)
    assert [(f.pk, f.summary) for f in again] == [(f.pk, f.summary) for f in said]


def test_what_was_finished_before_an_interruption_stays(
    carol: Carol, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reports, "BATCH", 1)
    groups = [make_community(carol.workspace, [one]) for one in carol.everybody]

    class StoppedError(Exception):
        pass

    def stop(done: int, total: int) -> None:
        assert total == len(groups)
        if done == 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        run(carol.workspace, Progress(stop))
    assert marked(carol.workspace) == 3

    assert run(carol.workspace) == StageOutcome(written=3)


def test_the_root_of_the_rest_is_called_other_topics(carol: Carol):
    workspace = carol.workspace
    rest = make_community(workspace, carol.everybody, id_=other_topics_id(workspace.pk))

    run(workspace)

    assert report_of(rest).title == OTHER_TOPICS


def test_a_community_nobody_wrote_about_still_has_a_report(carol: Carol):
    community = make_community(carol.workspace, [make_entity(carol.workspace, "Belle")])

    run(carol.workspace)

    assert report_of(community).title == "Belle"
    assert report_of(community).summary == ""


def test_spans_of_chunks_that_are_gone_are_not_quoted(carol: Carol):
    community = make_community(carol.workspace, carol.everybody)
    with access.in_workspace(carol.workspace.pk):
        source = {"chunk": str(uuid4()), "start": 0, "end": 20}
        Entity.objects.in_workspace(carol.workspace).update(description_sources=[source])
        Document.objects.in_workspace(carol.workspace).all().delete()

    run(carol.workspace)

    assert report_of(community).summary == ""


def test_another_workspace_is_left_alone(carol: Carol):
    other = make_workspace("Elsewhere")
    make_community(other, [make_entity(other, "Ada")])

    assert run(carol.workspace) == StageOutcome(written=0)
    assert marked(other) == 1


def test_batches_never_mix_levels():
    a, b, c, d = (UUID(int=number) for number in range(4))

    found = list(reports.batches([(2, a), (2, b), (2, c), (0, d)], 2))

    assert found == [[a, b], [c], [d]]


def test_topics_beside_each_other_have_titles_of_their_own(carol: Carol):
    parent = make_community(carol.workspace, carol.everybody)
    children = [
        make_community(carol.workspace, [carol.bob, carol.tim], parent=parent),
        make_community(carol.workspace, [carol.scrooge, carol.marley, carol.fred], parent=parent),
    ]

    run(carol.workspace)

    titles = {report_of(one).title for one in [parent, *children]}
    assert len(titles) == 3


def test_headings_menus_and_licences_are_not_quoted(carol: Carol):
    with access.in_workspace(carol.workspace.pk):
        chunk = carol.chunks[2]
        chunk.regions = [["legal", 0, len(chunk.text)]]
        chunk.save()
    community = make_community(carol.workspace, carol.everybody)

    run(carol.workspace)

    said = [f.summary for part in Finding.Part for f in findings_of(community, part)]
    assert said
    assert "Fred invited Scrooge to Christmas dinner with his wife." not in said


def test_a_topic_is_named_after_the_section_it_stands_in(carol: Carol):
    with access.in_workspace(carol.workspace.pk):
        Chunk.objects.in_workspace(carol.workspace).update(heading_path=["The Counting House"])
    community = make_community(carol.workspace, carol.everybody)

    run(carol.workspace)

    assert report_of(community).title == "The Counting House"


def test_of_many_parts_the_largest_are_read(carol: Carol):
    parent = make_community(carol.workspace, carol.everybody)
    small = make_community(carol.workspace, [carol.bob, carol.tim], parent=parent)
    large = make_community(
        carol.workspace, [carol.scrooge, carol.marley, carol.fred], parent=parent
    )
    run(carol.workspace)

    def read(most: int) -> set[tuple[UUID, int, int]]:
        values = {"workspace": carol.workspace.pk, "ids": [parent.pk], "most": most}
        with access.in_workspace(carol.workspace.pk):
            return {row[1:4] for row in run_sql(FINDINGS_OF_CHILDREN, values)}

    def quoted(*topics: Community) -> set[tuple[UUID, int, int]]:
        with access.in_workspace(carol.workspace.pk):
            rows = FindingEvidence.objects.in_workspace(carol.workspace).filter(
                finding__report__community__in=topics, finding__ordinal__lt=3
            )
            return set(rows.values_list("chunk_id", "start", "end"))

    assert read(1) == quoted(large) != set()
    assert read(2) == quoted(small, large) != quoted(large)

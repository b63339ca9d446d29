"""Whatever changes what can be searched moves the version of the corpus, and answers are new."""

from __future__ import annotations

import pytest

from ingestion.curation import merging, undoing
from ingestion.knowledge.corpus import corpus_version
from ingestion.models import Entity, IngestionJob, JobKind, RunState, StageRun, Verdict
from ingestion.pipeline import inline, transitions
from tests import rows
from tests.ingestion.jobs import add, states
from tests.ingestion.once import Kept
from tests.retrieval.answering.asked import KEEPERS, queue, run
from workspaces import access

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("media", "fake_embedder"),
]


def is_cached(answer):
    return "cached_from" in answer.trace


def version_of(workspace):
    with access.in_workspace(workspace.pk):
        return corpus_version(workspace_id=workspace.pk)


def begin() -> rows.Cast:
    cast = rows.make_cast()
    add(cast.workspace, "keepers.txt", KEEPERS)
    inline.drain(cast.workspace.pk)
    return cast


@pytest.fixture(scope="module")
def read_once(rows_of_the_module, tmp_path_factory) -> Kept[rows.Cast]:
    return Kept(tmp_path_factory.mktemp("files"), begin)


@pytest.fixture
def read(read_once, media, fake_embedder):
    """A workspace whose one document came in as documents do."""
    return read_once.for_a_test(media)


def test_a_document_that_is_read_moves_it(read):
    before = version_of(read.workspace)
    first = run(queue(read))
    add(read.workspace, "oil.txt", "Bo Strand keeps the Skarrow light since Ada Lind left.")
    inline.drain(read.workspace.pk)

    assert version_of(read.workspace) > before
    assert is_cached(run(queue(read))) is False
    assert first.cache_key
    assert is_cached(run(queue(read)))


def test_a_stage_that_fails_moves_it_too(read):
    before = version_of(read.workspace)
    job = add(read.workspace, "bad.pdf", "%PDF-1.4 and nothing more")
    inline.drain(read.workspace.pk)

    assert RunState.FAILED.value in states(job).values()
    assert version_of(read.workspace) > before


def test_a_persons_ruling_about_names_moves_it(read):
    add(read.workspace, "more.txt", "Ada Lind met Bo Strand at Tern Rock on a Friday.")
    inline.drain(read.workspace.pk)
    run(queue(read))
    before = version_of(read.workspace)
    with access.in_workspace(read.workspace.pk):
        left, right = Entity.objects.in_workspace(read.workspace).order_by("key")[:2]
    decision = merging.decision_record(
        workspace=read.workspace, user=read.alice, left=left, right=right, verdict=Verdict.SAME
    )

    assert version_of(read.workspace) is None
    assert not is_cached(run(queue(read)))
    inline.drain(read.workspace.pk)
    ruled = version_of(read.workspace)
    assert ruled > before

    undoing.decision_undo(workspace=read.workspace, decision=decision, user=read.alice)
    assert version_of(read.workspace) is None
    inline.drain(read.workspace.pk)
    assert version_of(read.workspace) > ruled


def test_reading_again_moves_it(read):
    before = version_of(read.workspace)
    with access.in_workspace(read.workspace.pk):
        [job] = IngestionJob.objects.in_workspace(read.workspace).filter(kind=JobKind.DOCUMENT)
        transitions.repeat(job, ["extract"])

    assert version_of(read.workspace) is None
    inline.drain(read.workspace.pk)
    assert version_of(read.workspace) > before


def test_what_waits_for_a_model_leaves_nothing_to_rely_on(read):
    with access.in_workspace(read.workspace.pk):
        IngestionJob.objects.in_workspace(read.workspace).update(state=RunState.PAUSED)

    assert version_of(read.workspace) is None
    assert not is_cached(run(queue(read)))


def test_a_group_of_documents_moves_it_once_a_stage(read):
    before = version_of(read.workspace)
    for number in range(3):
        add(read.workspace, f"{number}.txt", f"The boat number {number} brings oil on Fridays.")
    inline.drain(read.workspace.pk)

    with access.in_workspace(read.workspace.pk):
        ended = StageRun.objects.in_workspace(read.workspace).count()
    assert version_of(read.workspace) - before <= ended / 2

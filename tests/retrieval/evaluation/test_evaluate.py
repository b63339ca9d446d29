from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from ingestion.models import Document
from retrieval.evaluation import runner
from retrieval.evaluation.dataset import Evidence, SourceQuestion, load
from retrieval.evaluation.measuring import Plan
from retrieval.evaluation.metrics import METRICS
from retrieval.search.modes import MODES
from tests import rows
from tests.retrieval.answering.passages import hit
from workspaces import access
from workspaces.administration.services import workspace_purge
from workspaces.models import Workspace

DOCUMENTS: list[dict[str, object]] = [
    {"id": "d0", "title": "Keepers", "text": "Ada Lind keeps the Skarrow light."},
    {
        "id": "d1",
        "title": "Oil",
        "text": "",
        "chunks": ["The lamp burns oil.", "The boat brings it on Fridays."],
    },
    {"id": "d2", "title": "Roads", "text": "The quarry road is closed in winter."},
]
QUESTIONS: list[dict[str, object]] = [
    {"question": "Who keeps the Skarrow light?", "evidence": ["Keepers"]},
    {"question": "When does the boat bring the oil?", "evidence": [{"doc": "d1", "chunk": 1}]},
]


@pytest.fixture
def folder(tmp_path):
    for name, records in (("documents", DOCUMENTS), ("questions", QUESTIONS)):
        lines = "\n".join(json.dumps(record) for record in records)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def evaluate(folder, **options):
    out = StringIO()
    call_command("evaluate", str(folder), stdout=out, **options)
    return out.getvalue()


def test_a_hit_covers_the_evidence_it_is_the_first_to_hold():
    first, other = hit("a"), hit("c")
    second = hit("b", document=first.document_id)
    question = SourceQuestion(
        "?", (Evidence(frozenset({0})), Evidence(frozenset({0}), 1), Evidence(frozenset({5})))
    )
    indices = {first.document_id: 0, other.document_id: 7}
    ordinals = {first.chunk_id: 0, second.chunk_id: 1, other.chunk_id: 0}

    covered = runner.cover(question, [first, other, second], indices, ordinals)

    assert covered == [{0}, set(), {1}]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "options", [{"modes": "telepathy"}, {"k": "0"}, {"k": "many"}, {"modes": ","}, {"k": ","}]
)
def test_what_cannot_be_measured_is_refused(folder, options):
    with pytest.raises(CommandError):
        evaluate(folder, **options)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
class TestOnARealWorkspace:
    """Ingests with the real pipeline; the embedding lane has a connection of its own."""

    @pytest.fixture(autouse=True)
    def _surroundings(self, fake_embedder, media):
        yield
        for workspace in Workspace.objects.all():
            workspace_purge(workspace.pk)

    def test_every_mode_is_measured_in_the_agreed_shape(self, folder):
        report = json.loads(evaluate(folder, modes=",".join(MODES), k="1,2", json=True))

        assert (report["documents"], report["questions"]) == (3, 2)
        assert report["failed_documents"] == 0
        assert set(report["modes"]) == set(MODES)
        for mode in report["modes"].values():
            assert set(mode["perfect"]) == set(mode["recall"]) == set(mode["ndcg"]) == {"1", "2"}
            assert 0 <= mode["mrr"] <= 1
            assert set(mode["latency_ms"]) == set(mode["embed_ms"]) == {"p50", "p95"}
        assert report["modes"]["lexical"]["perfect"]["1"] == 1.0

    def test_answers_are_judged_where_they_are_expected(self, folder):
        known = {**QUESTIONS[0], "answer": "Ada Lind keeps the Skarrow light."}
        (folder / "questions.jsonl").write_text(json.dumps(known), encoding="utf-8")

        report = json.loads(evaluate(folder, modes="lexical", k="1", answers=True, json=True))

        mode = report["modes"]["lexical"]
        assert mode["perfect"] == {"1": 1.0}
        assert set(mode["ragchecker"]) == set(METRICS)
        assert (mode["ragchecker"]["f1"], mode["answered"], mode["failed"]) == (1.0, 1.0, 0.0)
        assert mode["judged_by"] == "words and vectors"

    def test_the_workspace_is_gone_afterwards(self, folder):
        evaluate(folder, modes="lexical", k="1")

        assert not Workspace.objects.exists()

    def test_the_workspace_is_gone_after_a_failure_too(self, folder):
        def fail(_done, _total):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            runner.evaluate(load(folder), Plan(("lexical",), (1,)), on_progress=fail)

        assert not Workspace.objects.exists()

    def test_a_kept_workspace_is_used_again_while_its_documents_are_the_same(self, folder):
        plan, dataset = Plan(("lexical",), (1,)), load(folder)

        first = runner.evaluate(dataset, plan, keep="bench")
        kept = Workspace.objects.get(slug="bench")
        second = runner.evaluate(dataset, plan, keep="bench")

        assert (first["reused"], second["reused"]) == (False, True)
        assert Workspace.objects.get(slug="bench").pk == kept.pk
        assert second["modes"]["lexical"]["perfect"] == first["modes"]["lexical"]["perfect"]

    def test_a_kept_workspace_is_filled_anew_when_a_document_changed(self, folder):
        plan = Plan(("lexical",), (1,))
        runner.evaluate(load(folder), plan, keep="bench")
        changed = [{**DOCUMENTS[0], "text": "Per Holm keeps the Skarrow light."}, *DOCUMENTS[1:]]
        (folder / "documents.jsonl").write_text("\n".join(map(json.dumps, changed)))

        report = runner.evaluate(load(folder), plan, keep="bench")

        assert not report["reused"]
        workspace = Workspace.objects.get(slug="bench")
        with access.in_workspace(workspace.pk):
            assert Document.objects.in_workspace(workspace).count() == 3

    @pytest.mark.parametrize("owner", ["Alice", ""])
    def test_a_workspace_for_work_is_never_touched(self, folder, owner):
        person = rows.make_user(owner) if owner else None
        workspace = rows.make_workspace("Bench", owner=person)
        rows.make_document(workspace, "Ours", "The tide was out at noon.")

        with pytest.raises(CommandError, match="not created by an evaluation"):
            evaluate(folder, modes="lexical", k="1", keep="bench")

        with access.in_workspace(workspace.pk):
            assert Document.objects.in_workspace(workspace).get().title == "Ours"

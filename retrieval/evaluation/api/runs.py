"""API for runs over question sets, and for making questions from the documents."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers

from ingestion.documents.api.processing import RangeSerializer
from ingestion.documents.cost_model import Estimate
from kb_project.http.api import PageInput, PageOutput, page_of
from retrieval.evaluation import control, making, queries, results
from retrieval.evaluation.api.sets import changing
from retrieval.evaluation.control import Order
from retrieval.evaluation.measuring import Plan
from retrieval.search.modes import MODES
from retrieval.search.query import MOST_HITS
from workspaces.api import WorkspaceAPIView, reading


class RunSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="pk")
    question_set = serializers.UUIDField(source="question_set_id")
    kind = serializers.CharField(help_text="measure, or make (questions from documents).")
    state = serializers.CharField(help_text="queued, running, done, failed or stopped.")
    modes = serializers.ListField(child=serializers.CharField())
    ks = serializers.ListField(child=serializers.IntegerField())
    answers = serializers.BooleanField(help_text="Whether answers are judged too.")
    judged_by = serializers.CharField(allow_blank=True)
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    summary = serializers.DictField(help_text="`{mode: {metric: value}}`; times in milliseconds.")
    problem = serializers.DictField(allow_null=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class DeltaSerializer(serializers.Serializer[Any]):
    now = serializers.FloatField()
    before = serializers.FloatField(allow_null=True)
    difference = serializers.FloatField(allow_null=True)
    change = serializers.CharField(help_text="better, worse, same or new.")


class LineSerializer(serializers.Serializer[Any]):
    result = serializers.UUIDField(source="result.pk")
    question = serializers.UUIDField(source="result.question_id")
    mode = serializers.CharField(source="result.mode")
    metric = serializers.CharField(help_text="The metric that `change` is judged by.")
    value = serializers.FloatField(allow_null=True)
    change = serializers.CharField()
    is_other = serializers.BooleanField(
        help_text="Whether the question was edited between the runs."
    )


class ComparisonSerializer(serializers.Serializer[Any]):
    before = serializers.UUIDField(allow_null=True, help_text="The previous run.")
    counts = serializers.DictField(child=serializers.IntegerField())
    changed = serializers.ListField(
        child=serializers.CharField(), help_text="Other differences between the runs, in words."
    )
    summary = serializers.DictField(child=serializers.DictField(child=DeltaSerializer()))
    lines = LineSerializer(many=True)


class RunInput(serializers.Serializer[Any]):
    modes = serializers.ListField(
        child=serializers.CharField(max_length=20), min_length=1, max_length=len(MODES)
    )
    ks = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=MOST_HITS),
        required=False,
        min_length=1,
        max_length=control.MOST_KS,
    )
    answers = serializers.BooleanField(default=False)


class MakeInput(serializers.Serializer[Any]):
    number = serializers.IntegerField(min_value=1, max_value=making.MOST)


class RunEstimateSerializer(serializers.Serializer[Any]):
    questions = serializers.IntegerField(source="documents")
    calls = RangeSerializer()
    prompt_tokens = RangeSerializer()
    completion_tokens = RangeSerializer()
    cost = RangeSerializer(allow_null=True, help_text="Null if the model has no price.")
    seconds = RangeSerializer()
    budget_left = serializers.FloatField(source="left", allow_null=True)
    is_free = serializers.BooleanField()
    is_short = serializers.BooleanField(help_text="Whether the budget may be too low.")
    sentences = serializers.SerializerMethodField()

    def get_sentences(self, estimate: Estimate) -> list[str]:
        return control.estimate_sentences(estimate)


class RunEstimateApi(WorkspaceAPIView):
    """Estimate a run's cost before starting it."""

    @changing("evaluation_run_estimate", takes=RunInput, gives=RunEstimateSerializer)
    def post(self, set_id: UUID) -> object:
        """Estimate a run's calls, tokens, cost and time."""
        found = queries.set_get(workspace=self.workspace, set_id=set_id)
        wanted = self.body()
        return control.estimate_for_run(
            workspace=self.workspace,
            question_set=found,
            modes=wanted["modes"],
            answers=wanted["answers"],
        )


class ResultSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    question_id = serializers.UUIDField()
    question = serializers.CharField()
    mode = serializers.CharField()
    expected = serializers.CharField(allow_blank=True)
    answer = serializers.CharField(allow_blank=True)
    metrics = serializers.DictField(child=serializers.FloatField())
    passages = serializers.ListField(child=serializers.DictField())
    claims = serializers.DictField()
    problem = serializers.DictField(allow_null=True)


class RunsApi(WorkspaceAPIView):
    """Runs over a question set."""

    class OutputSerializer(PageOutput):
        results = RunSerializer(many=True)

    @reading("evaluation_run_list", query=PageInput, gives=OutputSerializer)
    def get(self, set_id: UUID) -> object:
        """List the runs, newest first."""
        found = queries.set_get(workspace=self.workspace, set_id=set_id)
        rows = queries.runs_of(workspace=self.workspace, question_set=found)
        page = page_of(rows, **self.query())
        return page.of(page.results)

    @changing("evaluation_run_start", takes=RunInput, gives=RunSerializer, status=202)
    def post(self, set_id: UUID) -> object:
        """Start a run. It continues in the background and can be stopped."""
        found = queries.set_get(workspace=self.workspace, set_id=set_id)
        wanted = self.body()
        return control.run_start(
            workspace=self.workspace,
            order=Order(self.request.user),
            question_set=found,
            plan=Plan(tuple(dict.fromkeys(wanted["modes"])), _ks(wanted)),
            answers=wanted["answers"],
        )


class MakeQuestionsApi(WorkspaceAPIView):
    """Make questions from the documents."""

    @changing("set_questions_make", takes=MakeInput, gives=RunSerializer, status=202)
    def post(self, set_id: UUID) -> object:
        """Make questions from the documents for review. Returns the run that makes them."""
        found = queries.set_get(workspace=self.workspace, set_id=set_id)
        return control.questions_make(
            workspace=self.workspace,
            order=Order(self.request.user),
            question_set=found,
            number=self.body()["number"],
        )


class RunApi(WorkspaceAPIView):
    """A run."""

    @reading("evaluation_run", gives=RunSerializer)
    def get(self, run_id: UUID) -> object:
        """Return a run's progress and measurements."""
        return queries.run_get(workspace=self.workspace, run_id=run_id)

    @changing("evaluation_run_delete", status=204)
    def delete(self, run_id: UUID) -> None:
        """Delete a run, with its results."""
        run = queries.run_get(workspace=self.workspace, run_id=run_id)
        control.run_delete(workspace=self.workspace, run=run)


class RunStopApi(WorkspaceAPIView):
    """Stop a run."""

    @changing("evaluation_run_stop", gives=RunSerializer)
    def post(self, run_id: UUID) -> object:
        """Stop a run after the current question. The results so far are kept."""
        run = queries.run_get(workspace=self.workspace, run_id=run_id)
        return control.run_stop(workspace=self.workspace, run=run)


class RunContinueApi(WorkspaceAPIView):
    """Continue a run."""

    @changing("evaluation_run_continue", gives=RunSerializer, status=202)
    def post(self, run_id: UUID) -> object:
        """Continue a run where it stopped, and retry the questions that failed."""
        run = queries.run_get(workspace=self.workspace, run_id=run_id)
        order = Order(self.request.user)
        return control.run_continue(workspace=self.workspace, run=run, order=order)


class RunResultsApi(WorkspaceAPIView):
    """A run's results, question by question."""

    class OutputSerializer(PageOutput):
        results = ResultSerializer(many=True)

    @reading("evaluation_run_results", query=PageInput, gives=OutputSerializer)
    def get(self, run_id: UUID) -> object:
        """List the results in the order of the questions."""
        run = queries.run_get(workspace=self.workspace, run_id=run_id)
        rows = queries.results_of(workspace=self.workspace, run=run)
        page = page_of(rows, **self.query())
        records = [results.record_of(row) for row in page.results]
        return page.of(records)


class RunComparisonApi(WorkspaceAPIView):
    """A run compared with the previous one over the same set."""

    @reading("evaluation_run_comparison", gives=ComparisonSerializer)
    def get(self, run_id: UUID) -> object:
        """Compare a run with the previous one: questions that got better or worse, and other
        differences.
        """
        run = queries.run_get(workspace=self.workspace, run_id=run_id)
        found = results.comparison_of(workspace=self.workspace, run=run)
        return {
            "before": found.before and found.before.pk,
            "counts": found.counts,
            "changed": found.changed,
            "summary": found.summary,
            "lines": found.lines,
        }


def _ks(wanted: dict[str, Any]) -> tuple[int, ...]:
    return tuple(sorted(set(wanted.get("ks") or control.KS)))

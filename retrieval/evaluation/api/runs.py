"""API for runs over question sets, and for making questions from the documents."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion.documents.api.estimates import RangeSerializer
from ingestion.documents.estimates import Estimate
from kb_project.http.api import ASKING, READING, PageInput, PageOutput, page_of
from retrieval.evaluation import control, estimating, history, making, queries, results
from retrieval.evaluation.api.sets import CHANGING, set_for_writing
from retrieval.evaluation.control import Order
from retrieval.evaluation.plan import Plan
from retrieval.models import EvaluationRun
from retrieval.search.modes import MODES
from retrieval.search.query import MOST_HITS
from workspaces import access
from workspaces.models import Workspace
from workspaces.requests import ApiRequest


class RunSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="pk")
    question_set = serializers.UUIDField(source="question_set_id")
    kind = serializers.CharField(help_text="measure, or make: questions made of documents.")
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
    metric = serializers.CharField(help_text="What the change is judged by.")
    value = serializers.FloatField(allow_null=True)
    change = serializers.CharField()
    is_other = serializers.BooleanField(help_text="The question was changed in between.")


class ComparisonSerializer(serializers.Serializer[Any]):
    before = serializers.UUIDField(allow_null=True, help_text="The run that it is compared with.")
    counts = serializers.DictField(child=serializers.IntegerField())
    changed = serializers.ListField(
        child=serializers.CharField(), help_text="What changed between the runs."
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
    cost = RangeSerializer(allow_null=True, help_text="Null: no price is set for the model.")
    seconds = RangeSerializer()
    budget_left = serializers.FloatField(source="left", allow_null=True)
    is_free = serializers.BooleanField()
    is_short = serializers.BooleanField(help_text="The budget may not suffice.")
    sentences = serializers.SerializerMethodField()

    def get_sentences(self, estimate: Estimate) -> list[str]:
        return estimating.sentences(estimate)


class RunEstimateApi(APIView):
    """Estimate a run's cost before starting it."""

    @extend_schema(
        operation_id="evaluation_run_estimate",
        request=RunInput,
        responses={200: RunEstimateSerializer, **CHANGING},
    )
    def post(self, request: ApiRequest, workspace_id: str, set_id: UUID) -> Response:
        """Estimate a run's calls, tokens, cost and time."""
        workspace, found = set_for_writing(request, workspace_id, set_id)
        wanted = _checked(RunInput, request)
        estimate = estimating.estimate_for_run(
            workspace=workspace,
            question_set=found,
            modes=wanted["modes"],
            answers=wanted["answers"],
        )
        return Response(RunEstimateSerializer(estimate).data)


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


class RunsApi(APIView):
    """Runs over a question set."""

    class OutputSerializer(PageOutput):
        results = RunSerializer(many=True)

    @extend_schema(
        operation_id="evaluation_run_list",
        parameters=[PageInput],
        responses={200: OutputSerializer, **ASKING},
    )
    def get(self, request: ApiRequest, workspace_id: str, set_id: UUID) -> Response:
        """List the runs, newest first."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        found = queries.set_get(workspace=workspace, set_id=set_id)
        query = PageInput(data=request.query_params)
        query.is_valid(raise_exception=True)
        rows = queries.runs_of(workspace=workspace, question_set=found)
        page = page_of(rows, **query.validated_data)
        return Response(self.OutputSerializer(page.of(page.results)).data)

    @extend_schema(
        operation_id="evaluation_run_start",
        request=RunInput,
        responses={202: RunSerializer, **CHANGING},
    )
    def post(self, request: ApiRequest, workspace_id: str, set_id: UUID) -> Response:
        """Start a run. It continues in the background and can be stopped."""
        workspace, found = set_for_writing(request, workspace_id, set_id)
        wanted = _checked(RunInput, request)
        run = control.run_start(
            workspace=workspace,
            order=Order(request.user),
            question_set=found,
            plan=Plan(tuple(dict.fromkeys(wanted["modes"])), _ks(wanted)),
            answers=wanted["answers"],
        )
        return Response(RunSerializer(run).data, status=202)


class MakeQuestionsApi(APIView):
    """Make questions from the documents."""

    @extend_schema(
        operation_id="set_questions_make",
        request=MakeInput,
        responses={202: RunSerializer, **CHANGING},
    )
    def post(self, request: ApiRequest, workspace_id: str, set_id: UUID) -> Response:
        """Make questions for people to accept or reject. Returns the run that makes them."""
        workspace, found = set_for_writing(request, workspace_id, set_id)
        run = control.questions_make(
            workspace=workspace,
            order=Order(request.user),
            question_set=found,
            number=_checked(MakeInput, request)["number"],
        )
        return Response(RunSerializer(run).data, status=202)


class RunApi(APIView):
    """A run."""

    @extend_schema(operation_id="evaluation_run", responses={200: RunSerializer, **READING})
    def get(self, request: ApiRequest, workspace_id: str, run_id: UUID) -> Response:
        """Return a run's progress and measurements."""
        _, run = _reading(request, workspace_id, run_id)
        return Response(RunSerializer(run).data)

    @extend_schema(operation_id="evaluation_run_delete", responses={204: None, **CHANGING})
    def delete(self, request: ApiRequest, workspace_id: str, run_id: UUID) -> Response:
        """Delete a run, with its results."""
        workspace, run = _writing(request, workspace_id, run_id)
        control.run_delete(workspace=workspace, run=run)
        return Response(status=204)


class RunStopApi(APIView):
    """Stop a run."""

    @extend_schema(
        operation_id="evaluation_run_stop", request=None, responses={200: RunSerializer, **CHANGING}
    )
    def post(self, request: ApiRequest, workspace_id: str, run_id: UUID) -> Response:
        """Stop a run between two questions; the results so far are kept."""
        workspace, run = _writing(request, workspace_id, run_id)
        return Response(RunSerializer(control.run_stop(workspace=workspace, run=run)).data)


class RunContinueApi(APIView):
    """Continue a run."""

    @extend_schema(
        operation_id="evaluation_run_continue",
        request=None,
        responses={202: RunSerializer, **CHANGING},
    )
    def post(self, request: ApiRequest, workspace_id: str, run_id: UUID) -> Response:
        """Continue a run where it stopped; questions that failed individually are tried again."""
        workspace, run = _writing(request, workspace_id, run_id)
        order = Order(request.user)
        run = control.run_continue(workspace=workspace, run=run, order=order)
        return Response(RunSerializer(run).data, status=202)


class RunResultsApi(APIView):
    """A run's results, question by question."""

    class OutputSerializer(PageOutput):
        results = ResultSerializer(many=True)

    @extend_schema(
        operation_id="evaluation_run_results",
        parameters=[PageInput],
        responses={200: OutputSerializer, **ASKING},
    )
    def get(self, request: ApiRequest, workspace_id: str, run_id: UUID) -> Response:
        """List the results in the order of the questions."""
        workspace, run = _reading(request, workspace_id, run_id)
        query = PageInput(data=request.query_params)
        query.is_valid(raise_exception=True)
        rows = queries.results_of(workspace=workspace, run=run)
        page = page_of(rows, **query.validated_data)
        records = [results.record_of(row) for row in page.results]
        return Response(self.OutputSerializer(page.of(records)).data)


class RunComparisonApi(APIView):
    """A run compared with the previous one over the same set."""

    @extend_schema(
        operation_id="evaluation_run_comparison",
        responses={200: ComparisonSerializer, **READING},
    )
    def get(self, request: ApiRequest, workspace_id: str, run_id: UUID) -> Response:
        """Return which questions got better or worse, and what changed in between."""
        workspace, run = _reading(request, workspace_id, run_id)
        found = history.comparison_of(workspace=workspace, run=run)
        shown = {
            "before": found.before and found.before.pk,
            "counts": found.counts,
            "changed": found.changed,
            "summary": found.summary,
            "lines": found.lines,
        }
        return Response(ComparisonSerializer(shown).data)


def _reading(
    request: ApiRequest, workspace_id: str, run_id: UUID
) -> tuple[Workspace, EvaluationRun]:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    return workspace, queries.run_get(workspace=workspace, run_id=run_id)


def _writing(
    request: ApiRequest, workspace_id: str, run_id: UUID
) -> tuple[Workspace, EvaluationRun]:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
    return workspace, queries.run_get(workspace=workspace, run_id=run_id)


def _checked(serializer: type[serializers.Serializer[Any]], request: ApiRequest) -> dict[str, Any]:
    given = serializer(data=request.data)
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


def _ks(wanted: dict[str, Any]) -> tuple[int, ...]:
    return tuple(sorted(set(wanted.get("ks") or control.KS)))

"""API for question sets and their questions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.response import Response
from rest_framework.views import APIView

from kb_project.errors import InputError
from kb_project.http.api import (
    ASKING,
    READING,
    WRITING,
    PageInput,
    PageOutput,
    ProblemSerializer,
    page_of,
)
from kb_project.http.parsers import BoundedJSONParser
from retrieval.evaluation import evidence, queries, sets
from retrieval.evaluation.files import LARGEST_FILE, LONGEST_ANSWER, MOST_QUESTIONS
from retrieval.evaluation.queries import SetRow
from retrieval.models import QuestionSet
from retrieval.search.query import LONGEST_QUESTION
from workspaces import access
from workspaces.models import Workspace
from workspaces.requests import ApiRequest

CHANGING: dict[int, Any] = {400: ProblemSerializer, 409: ProblemSerializer, **WRITING}


class SetSerializer(serializers.Serializer[Any]):
    """A question set with its counts."""

    id = serializers.UUIDField(source="question_set.pk")
    name = serializers.CharField(source="question_set.name")
    created_at = serializers.DateTimeField(source="question_set.created_at")
    accepted = serializers.IntegerField(help_text="Questions that count.")
    proposed = serializers.IntegerField(help_text="Questions that wait for a person.")
    runs = serializers.IntegerField()


class SetNameSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=sets.LONGEST_NAME)


class SetQuestionSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="pk")
    ordinal = serializers.IntegerField()
    question = serializers.CharField(source="text")
    answer = serializers.CharField(allow_blank=True)
    evidence = serializers.ListField(
        child=serializers.DictField(), help_text='`{"document", "chunk", "quote"}` each.'
    )
    state = serializers.CharField(help_text="proposed, accepted or rejected.")
    origin = serializers.CharField(help_text="person, file, documents or answer.")


class SetQuestionInput(serializers.Serializer[Any]):
    question = serializers.CharField(max_length=LONGEST_QUESTION)
    answer = serializers.CharField(
        max_length=LONGEST_ANSWER, required=False, default="", allow_blank=True
    )
    evidence = serializers.ListField(
        child=serializers.JSONField(),
        max_length=evidence.MOST_PIECES,
        help_text='A title or id each, or `{"doc", "chunk"?, "quote"?}`.',
    )


class QuestionSetsApi(APIView):
    """A workspace's question sets."""

    class OutputSerializer(serializers.Serializer[Any]):
        results = SetSerializer(many=True)

    @extend_schema(operation_id="question_set_list", responses={200: OutputSerializer, **READING})
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """List the question sets by name."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        rows = list(queries.sets(workspace=workspace))
        found = queries.set_rows(workspace=workspace, rows=rows)
        return Response(self.OutputSerializer({"results": found}).data)

    @extend_schema(
        operation_id="question_set_create",
        request=SetNameSerializer,
        responses={201: SetSerializer, **CHANGING},
    )
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Create an empty question set."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        given = SetNameSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        name = given.validated_data["name"]
        made = sets.set_create(workspace=workspace, user=request.user, name=name)
        return Response(SetSerializer(row_of(workspace, made)).data, status=201)


class QuestionSetApi(APIView):
    """A question set."""

    @extend_schema(operation_id="question_set", responses={200: SetSerializer, **READING})
    def get(self, request: ApiRequest, workspace_id: str, set_id: UUID) -> Response:
        """Return a question set."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        found = queries.set_get(workspace=workspace, set_id=set_id)
        return Response(SetSerializer(row_of(workspace, found)).data)

    @extend_schema(
        operation_id="question_set_rename",
        request=SetNameSerializer,
        responses={200: SetSerializer, **CHANGING},
    )
    def patch(self, request: ApiRequest, workspace_id: str, set_id: UUID) -> Response:
        """Rename a question set."""
        workspace, found = set_for_writing(request, workspace_id, set_id)
        given = SetNameSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        name = given.validated_data["name"]
        sets.set_rename(workspace=workspace, question_set=found, name=name)
        return Response(SetSerializer(row_of(workspace, found)).data)

    @extend_schema(operation_id="question_set_delete", responses={204: None, **CHANGING})
    def delete(self, request: ApiRequest, workspace_id: str, set_id: UUID) -> Response:
        """Delete a question set, with its questions and runs."""
        workspace, found = set_for_writing(request, workspace_id, set_id)
        sets.set_delete(workspace=workspace, question_set=found)
        return Response(status=204)


class QuestionSetFileApi(APIView):
    """A question set as a file with one JSON object per line."""

    parser_classes = [MultiPartParser, BoundedJSONParser]

    class InputSerializer(serializers.Serializer[Any]):
        file = serializers.FileField(required=False, allow_empty_file=True)
        jsonl = serializers.CharField(
            required=False, max_length=LARGEST_FILE, trim_whitespace=False, allow_blank=True
        )

    class OutputSerializer(serializers.Serializer[Any]):
        added = serializers.IntegerField(help_text="Those that were not there already.")

    @extend_schema(
        operation_id="question_set_export",
        responses={
            (200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.STR, "A line a question."),
            **READING,
        },
    )
    def get(self, request: ApiRequest, workspace_id: str, set_id: UUID) -> HttpResponse:
        """Export the accepted questions."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        found = queries.set_get(workspace=workspace, set_id=set_id)
        lines = sets.set_export(workspace=workspace, question_set=found)
        return HttpResponse(lines, content_type="application/x-ndjson; charset=utf-8")

    @extend_schema(
        operation_id="question_set_import",
        request={"multipart/form-data": InputSerializer, "application/json": InputSerializer},
        responses={200: OutputSerializer, **CHANGING},
    )
    def post(self, request: ApiRequest, workspace_id: str, set_id: UUID) -> Response:
        """Import questions: all of them, or none if any line is bad. The error names each bad
        line."""
        workspace, found = set_for_writing(request, workspace_id, set_id)
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        file, text = given.validated_data.get("file"), given.validated_data.get("jsonl")
        if (file is None) == (text is None):
            raise InputError("Send either a 'file' or its text as 'jsonl'.")
        content = file.read(LARGEST_FILE + 1) if file else str(text or "").encode()
        added = sets.set_import(workspace=workspace, question_set=found, content=content)
        return Response(self.OutputSerializer({"added": added}).data)


class SetQuestionsApi(APIView):
    """The questions of a set."""

    class QuerySerializer(PageInput):
        state = serializers.CharField(
            required=False, max_length=10, help_text="proposed, accepted or rejected."
        )

    class OutputSerializer(PageOutput):
        results = SetQuestionSerializer(many=True)

    @extend_schema(
        operation_id="set_question_list",
        parameters=[QuerySerializer],
        responses={200: OutputSerializer, **ASKING},
    )
    def get(self, request: ApiRequest, workspace_id: str, set_id: UUID) -> Response:
        """List the questions in their order."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        found = queries.set_get(workspace=workspace, set_id=set_id)
        query = self.QuerySerializer(data=request.query_params)
        query.is_valid(raise_exception=True)
        wanted = dict(query.validated_data)
        rows = queries.questions_of(workspace=workspace, question_set=found)
        if state := wanted.pop("state", None):
            rows = rows.filter(state=state)
        page = page_of(rows, **wanted)
        return Response(self.OutputSerializer(page.of(page.results)).data)

    @extend_schema(
        operation_id="set_question_add",
        request=SetQuestionInput,
        responses={201: SetQuestionSerializer, **CHANGING},
    )
    def post(self, request: ApiRequest, workspace_id: str, set_id: UUID) -> Response:
        """Add a question."""
        workspace, found = set_for_writing(request, workspace_id, set_id)
        added = sets.question_add(workspace=workspace, question_set=found, **_given(request))
        return Response(SetQuestionSerializer(added).data, status=201)


class SetQuestionApi(APIView):
    """A question of a set."""

    @extend_schema(
        operation_id="set_question_change",
        request=SetQuestionInput,
        responses={200: SetQuestionSerializer, **CHANGING},
    )
    def put(
        self, request: ApiRequest, workspace_id: str, set_id: UUID, question_id: UUID
    ) -> Response:
        """Replace a question; a proposed one becomes accepted."""
        workspace, _ = set_for_writing(request, workspace_id, set_id)
        question = queries.question_get(workspace=workspace, set_id=set_id, question_id=question_id)
        sets.question_change(workspace=workspace, question=question, **_given(request))
        return Response(SetQuestionSerializer(question).data)

    @extend_schema(operation_id="set_question_delete", responses={204: None, **WRITING})
    def delete(
        self, request: ApiRequest, workspace_id: str, set_id: UUID, question_id: UUID
    ) -> Response:
        """Delete a question and its results."""
        workspace, _ = set_for_writing(request, workspace_id, set_id)
        question = queries.question_get(workspace=workspace, set_id=set_id, question_id=question_id)
        sets.question_delete(workspace=workspace, question=question)
        return Response(status=204)


class SetDecisionsApi(APIView):
    """Accept or reject proposed questions."""

    class InputSerializer(serializers.Serializer[Any]):
        questions = serializers.ListField(child=serializers.UUIDField(), max_length=MOST_QUESTIONS)
        accept = serializers.BooleanField()

    class OutputSerializer(serializers.Serializer[Any]):
        decided = serializers.IntegerField()

    @extend_schema(
        operation_id="set_questions_decide",
        request=InputSerializer,
        responses={200: OutputSerializer, **CHANGING},
    )
    def post(self, request: ApiRequest, workspace_id: str, set_id: UUID) -> Response:
        """Accept or reject proposed questions."""
        workspace, found = set_for_writing(request, workspace_id, set_id)
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        decided = sets.questions_decide(
            workspace=workspace,
            question_set=found,
            ids=given.validated_data["questions"],
            accept=given.validated_data["accept"],
        )
        return Response(self.OutputSerializer({"decided": decided}).data)


class SetKeepApi(APIView):
    """Questions that people asked."""

    class InputSerializer(serializers.Serializer[Any]):
        question = serializers.UUIDField(help_text="One that was answered.")

    @extend_schema(
        operation_id="set_question_keep",
        request=InputSerializer,
        responses={201: SetQuestionSerializer, **CHANGING},
    )
    def post(self, request: ApiRequest, workspace_id: str, set_id: UUID) -> Response:
        """Add an answered question: its answer becomes the expected one, its citations the
        evidence."""
        workspace, found = set_for_writing(request, workspace_id, set_id)
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        question_id = given.validated_data["question"]
        kept = sets.question_keep(workspace=workspace, question_set=found, question_id=question_id)
        return Response(SetQuestionSerializer(kept).data, status=201)


def set_for_writing(
    request: ApiRequest, workspace_id: str, set_id: UUID
) -> tuple[Workspace, QuestionSet]:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
    return workspace, queries.set_get(workspace=workspace, set_id=set_id)


def row_of(workspace: Workspace, found: QuestionSet) -> SetRow:
    [row] = queries.set_rows(workspace=workspace, rows=[found])
    return row


def _given(request: ApiRequest) -> dict[str, Any]:
    given = SetQuestionInput(data=request.data)
    given.is_valid(raise_exception=True)
    wanted = given.validated_data
    return {
        "text": wanted["question"],
        "answer": wanted["answer"],
        "evidence_given": wanted["evidence"],
    }

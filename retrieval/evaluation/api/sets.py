"""API for question sets and their questions."""

from __future__ import annotations

from functools import partial
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser

from kb_project.errors import InputError
from kb_project.http.api import PageInput, PageOutput, page_of
from kb_project.http.api_requests import BoundedJSONParser
from retrieval.evaluation import evidence, queries, sets
from retrieval.evaluation.queries import SetRow
from retrieval.evaluation.sets import LARGEST_FILE, LONGEST_ANSWER, MOST_QUESTIONS
from retrieval.models import QuestionSet, SetQuestion
from retrieval.search.query import LONGEST_QUESTION
from workspaces import access
from workspaces.api import WorkspaceAPIView, reading, writing
from workspaces.models import EXPORT, Workspace

changing: Final = partial(writing, errors=(400, 409), at_source=False)


class SetSerializer(serializers.Serializer[Any]):
    """A question set with its counts."""

    id = serializers.UUIDField(source="question_set.pk")
    name = serializers.CharField(source="question_set.name")
    created_at = serializers.DateTimeField(source="question_set.created_at")
    accepted = serializers.IntegerField()
    proposed = serializers.IntegerField(help_text="Number of questions waiting for review.")
    runs = serializers.IntegerField()


class SetNameSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=sets.LONGEST_NAME)


class SetQuestionSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="pk")
    ordinal = serializers.IntegerField()
    question = serializers.CharField(source="text")
    answer = serializers.CharField(allow_blank=True)
    evidence = serializers.ListField(
        child=serializers.DictField(), help_text='Items are `{"document", "chunk", "quote"}`.'
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
        help_text='Items are document titles or ids, or `{"doc", "chunk"?, "quote"?}`.',
    )


class QuestionSetsApi(WorkspaceAPIView):
    """A workspace's question sets."""

    class OutputSerializer(serializers.Serializer[Any]):
        results = SetSerializer(many=True)

    @reading("question_set_list", gives=OutputSerializer)
    def get(self) -> object:
        """List the question sets by name."""
        rows = list(queries.sets(workspace=self.workspace))
        found = queries.set_rows(workspace=self.workspace, rows=rows)
        return {"results": found}

    @changing("question_set_create", takes=SetNameSerializer, gives=SetSerializer, status=201)
    def post(self) -> object:
        """Create an empty question set."""
        name = self.body()["name"]
        made = sets.set_create(workspace=self.workspace, user=self.request.user, name=name)
        return _row_of(self.workspace, made)


class QuestionSetApi(WorkspaceAPIView):
    """A question set."""

    @reading("question_set", gives=SetSerializer)
    def get(self, set_id: UUID) -> object:
        """Return a question set."""
        found = queries.set_get(workspace=self.workspace, set_id=set_id)
        return _row_of(self.workspace, found)

    @changing("question_set_rename", takes=SetNameSerializer, gives=SetSerializer)
    def patch(self, set_id: UUID) -> object:
        """Rename a question set."""
        found = queries.set_get(workspace=self.workspace, set_id=set_id)
        name = self.body()["name"]
        sets.set_rename(workspace=self.workspace, question_set=found, name=name)
        return _row_of(self.workspace, found)

    @changing("question_set_delete", status=204)
    def delete(self, set_id: UUID) -> None:
        """Delete a question set, with its questions and runs."""
        found = queries.set_get(workspace=self.workspace, set_id=set_id)
        sets.set_delete(workspace=self.workspace, question_set=found)


class QuestionSetFileApi(WorkspaceAPIView):
    """A question set as a file with one JSON object per line."""

    parser_classes = [MultiPartParser, BoundedJSONParser]

    class InputSerializer(serializers.Serializer[Any]):
        file = serializers.FileField(required=False, allow_empty_file=True)
        jsonl = serializers.CharField(
            required=False, max_length=LARGEST_FILE, trim_whitespace=False, allow_blank=True
        )

    class OutputSerializer(serializers.Serializer[Any]):
        added = serializers.IntegerField(help_text="Questions that the set did not have yet.")

    @reading(
        "question_set_export",
        gives={
            (200, "application/x-ndjson"): OpenApiResponse(
                OpenApiTypes.STR, "One question per line."
            )
        },
        errors=(403,),
    )
    def get(self, set_id: UUID) -> object:
        """Export the accepted questions."""
        access.check_right(self.workspace, EXPORT)
        found = queries.set_get(workspace=self.workspace, set_id=set_id)
        lines = sets.set_export(workspace=self.workspace, question_set=found)
        return HttpResponse(lines, content_type="application/x-ndjson; charset=utf-8")

    @changing(
        "question_set_import",
        takes=InputSerializer,
        media_types=("multipart/form-data", "application/json"),
        gives=OutputSerializer,
    )
    def post(self, set_id: UUID) -> object:
        """Import questions. If a line is invalid, nothing is imported and the error says which."""
        found = queries.set_get(workspace=self.workspace, set_id=set_id)
        given = self.body()
        file, text = given.get("file"), given.get("jsonl")
        if (file is None) == (text is None):
            raise InputError("Send either a 'file' or its text as 'jsonl'.")
        content = file.read(LARGEST_FILE + 1) if file else str(text or "").encode()
        added = sets.set_import(workspace=self.workspace, question_set=found, content=content)
        return {"added": added}


class SetQuestionsApi(WorkspaceAPIView):
    """The questions of a set."""

    class QuerySerializer(PageInput):
        state = serializers.CharField(
            required=False, max_length=10, help_text="proposed, accepted or rejected."
        )

    class OutputSerializer(PageOutput):
        results = SetQuestionSerializer(many=True)

    @reading("set_question_list", query=QuerySerializer, gives=OutputSerializer)
    def get(self, set_id: UUID) -> object:
        """List the questions in their order."""
        found = queries.set_get(workspace=self.workspace, set_id=set_id)
        wanted = self.query()
        rows = queries.questions_of(workspace=self.workspace, question_set=found)
        if state := wanted.pop("state", None):
            rows = rows.filter(state=state)
        page = page_of(rows, **wanted)
        return page.of(page.results)

    @changing("set_question_add", takes=SetQuestionInput, gives=SetQuestionSerializer, status=201)
    def post(self, set_id: UUID) -> object:
        """Add a question."""
        found = queries.set_get(workspace=self.workspace, set_id=set_id)
        return sets.question_add(
            workspace=self.workspace, question_set=found, **_given(self.body())
        )


class SetQuestionApi(WorkspaceAPIView):
    """A question of a set."""

    @changing("set_question_change", takes=SetQuestionInput, gives=SetQuestionSerializer)
    def put(self, set_id: UUID, question_id: UUID) -> object:
        """Replace a question. This also accepts it."""
        question = self._question(set_id, question_id)
        sets.question_change(workspace=self.workspace, question=question, **_given(self.body()))
        return question

    @writing("set_question_delete", status=204, at_source=False)
    def delete(self, set_id: UUID, question_id: UUID) -> None:
        """Delete a question and its results."""
        question = self._question(set_id, question_id)
        sets.question_delete(workspace=self.workspace, question=question)

    def _question(self, set_id: UUID, question_id: UUID) -> SetQuestion:
        queries.set_get(workspace=self.workspace, set_id=set_id)
        return queries.question_get(
            workspace=self.workspace, set_id=set_id, question_id=question_id
        )


class SetDecisionsApi(WorkspaceAPIView):
    """Accept or reject proposed questions."""

    class InputSerializer(serializers.Serializer[Any]):
        questions = serializers.ListField(child=serializers.UUIDField(), max_length=MOST_QUESTIONS)
        accept = serializers.BooleanField()

    class OutputSerializer(serializers.Serializer[Any]):
        decided = serializers.IntegerField()

    @changing("set_questions_decide", takes=InputSerializer, gives=OutputSerializer)
    def post(self, set_id: UUID) -> object:
        """Accept or reject proposed questions."""
        found = queries.set_get(workspace=self.workspace, set_id=set_id)
        given = self.body()
        decided = sets.questions_decide(
            workspace=self.workspace,
            question_set=found,
            ids=given["questions"],
            accept=given["accept"],
        )
        return {"decided": decided}


class SetKeepApi(WorkspaceAPIView):
    """Questions that people asked."""

    class InputSerializer(serializers.Serializer[Any]):
        question = serializers.UUIDField(help_text="Id of an answered question.")

    @changing("set_question_keep", takes=InputSerializer, gives=SetQuestionSerializer, status=201)
    def post(self, set_id: UUID) -> object:
        """Add an answered question, with its answer as the expected answer and its citations as
        evidence."""
        found = queries.set_get(workspace=self.workspace, set_id=set_id)
        question_id = self.body()["question"]
        return sets.question_keep(
            workspace=self.workspace, question_set=found, question_id=question_id
        )


def _row_of(workspace: Workspace, found: QuestionSet) -> SetRow:
    [row] = queries.set_rows(workspace=workspace, rows=[found])
    return row


def _given(wanted: dict[str, Any]) -> dict[str, Any]:
    return {
        "text": wanted["question"],
        "answer": wanted["answer"],
        "evidence_given": wanted["evidence"],
    }

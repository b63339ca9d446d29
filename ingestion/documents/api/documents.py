"""The REST operations on documents: add, list, view, read, retry, cancel."""

from __future__ import annotations

from typing import Any, Final, cast
from uuid import UUID

from django.http import QueryDict
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion.documents import outcomes, services, version_queries
from ingestion.documents import queries as document_queries
from ingestion.documents.api.uploads import Intake, take_in
from ingestion.documents.services import Filing
from ingestion.history.preconditions import tags_of
from ingestion.models import DocumentState
from kb_project.errors import ConflictError, InputError
from kb_project.http.api import (
    ASKING,
    READING,
    WRITING,
    PageInput,
    PageOutput,
    ProblemSerializer,
    page_of,
)
from workspaces import access
from workspaces.models import Workspace
from workspaces.requests import ApiRequest
from workspaces.usage.queries import usage_of_document

MOST_CHARACTERS: Final = 100_000


class StageSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    state = serializers.CharField()
    share = serializers.FloatField(help_text="How much of it is done, 0 to 1.")


class DocumentSerializer(serializers.Serializer[Any]):
    """A row of the document list, from ``queries.DocumentRow``."""

    id = serializers.UUIDField(source="document.pk")
    title = serializers.CharField(source="document.title")
    name = serializers.CharField(source="document.name")
    media_type = serializers.CharField(source="document.media_type")
    size = serializers.IntegerField(source="document.size", help_text="Bytes.")
    collection = serializers.CharField(source="document.collection.name", default=None)
    tags = serializers.ListField(child=serializers.CharField(), source="document.tags")
    dated = serializers.DateField(source="document.dated", allow_null=True)
    state = serializers.ChoiceField(choices=DocumentState.choices, source="document.state")
    is_searched = serializers.BooleanField(
        source="document.is_live", help_text="False: disabled, or in the trash."
    )
    share = serializers.FloatField(help_text="How much of all its stages is done, 0 to 1.")
    has_words = serializers.BooleanField(
        help_text="Whether keyword and graph search can find it yet."
    )
    has_vectors = serializers.BooleanField(help_text="Found by meaning already.")
    chunks = serializers.IntegerField()
    warnings = serializers.ListField(child=serializers.CharField())
    problem = serializers.DictField(allow_null=True, help_text="Why it stopped or is paused.")
    version = serializers.IntegerField(
        source="document.live_number", help_text="The number of the version that is searched."
    )
    created_at = serializers.DateTimeField(source="document.created_at")
    updated_at = serializers.DateTimeField(source="document.updated_at")


class DocumentListApi(APIView):
    """The documents of a workspace."""

    parser_classes = [MultiPartParser, FormParser]

    class QuerySerializer(PageInput):
        q = serializers.CharField(required=False, default="", help_text="In title or file name.")
        state = serializers.ChoiceField(
            choices=DocumentState.choices, required=False, default="", allow_blank=True
        )
        tag = serializers.CharField(required=False, default="")
        collection = serializers.CharField(required=False, default="", help_text="Name or id.")
        media_type = serializers.CharField(required=False, default="")

    class OutputSerializer(PageOutput):
        results = DocumentSerializer(many=True)

    class InputSerializer(serializers.Serializer[Any]):
        file = serializers.ListField(child=serializers.FileField(), help_text="One or many.")
        collection = serializers.CharField(required=False, default="", allow_blank=True)
        tag = serializers.ListField(child=serializers.CharField(), required=False, default=list)
        dated = serializers.DateField(required=False, default=None, allow_null=True)

    class AddedSerializer(serializers.Serializer[Any]):
        total = serializers.IntegerField()
        added = serializers.IntegerField()
        documents = Intake.OutputSerializer(many=True)

    @extend_schema(
        operation_id="document_list",
        parameters=[QuerySerializer],
        responses={200: OutputSerializer, **ASKING},
    )
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """List documents, newest first."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        query = self.QuerySerializer(data=request.query_params)
        query.is_valid(raise_exception=True)
        wanted = dict(query.validated_data)
        number, size, text = wanted.pop("page"), wanted.pop("page_size"), wanted.pop("q")
        found = document_queries.documents(workspace=workspace, text=text, **wanted)
        page = page_of(found, page=number, page_size=size)
        rows = document_queries.document_rows(workspace=workspace, documents=page.results)
        return Response(self.OutputSerializer(page.of(rows)).data)

    @extend_schema(
        operation_id="document_add",
        request={"multipart/form-data": InputSerializer},
        responses={202: AddedSerializer, 400: ProblemSerializer, **WRITING},
    )
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Add one or more files. Poll each document's ``url`` to follow its progress."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        given = self.InputSerializer(data=_form(request))
        given.is_valid(raise_exception=True)
        values = given.validated_data
        filing = Filing(values["collection"], tuple(values["tag"]), values["dated"])
        intakes = take_in(
            workspace=workspace, user=request.user, files=values["file"], filing=filing
        )
        added = [intake for intake in intakes if intake.outcome == "added"]
        answer = {"total": len(intakes), "added": len(added), "documents": intakes}
        return Response(self.AddedSerializer(answer).data, status=202)


class DocumentsRetryApi(APIView):
    """Resume all stopped documents."""

    class OutputSerializer(serializers.Serializer[Any]):
        documents = serializers.IntegerField(help_text="So many were taken up.")

    @extend_schema(
        operation_id="documents_retry", request=None, responses={202: OutputSerializer, **WRITING}
    )
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Retry all documents that need attention."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        count = services.documents_retry(workspace=workspace)
        return Response(self.OutputSerializer({"documents": count}).data, status=202)


class WorkResumeApi(APIView):
    """End a pause: a budget was raised, a key changed, or a model is back."""

    class OutputSerializer(serializers.Serializer[Any]):
        jobs = serializers.IntegerField(help_text="So many go on.")

    @extend_schema(
        operation_id="work_resume", request=None, responses={202: OutputSerializer, **WRITING}
    )
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Resume paused work. It pauses again if the cause still exists."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        count = services.work_resume(workspace=workspace)
        return Response(self.OutputSerializer({"jobs": count}).data, status=202)


class UsageSerializer(serializers.Serializer[Any]):
    """Model usage for a document, from ``workspaces.usage.queries.UsageLine``."""

    calls = serializers.IntegerField()
    cached = serializers.IntegerField(
        help_text="Of these calls: answered by the cache for nothing."
    )
    failed = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    cost = serializers.FloatField()


class DocumentApi(APIView):
    """One document."""

    class OutputSerializer(DocumentSerializer):
        stages = StageSerializer(many=True)
        job = serializers.UUIDField(allow_null=True)
        entities = serializers.IntegerField(help_text="It names so many.")
        relationships = serializers.IntegerField(help_text="It is evidence of so many.")
        language = serializers.CharField()
        parser = serializers.CharField()
        encoding = serializers.CharField()
        pages = serializers.IntegerField()
        characters = serializers.IntegerField()
        usage = UsageSerializer()

    @extend_schema(operation_id="document", responses={200: OutputSerializer, **READING})
    def get(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """View a document and its processing state."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        row = document_queries.document_row(workspace=workspace, document_id=document_id)
        body = DocumentSerializer(row).data | _with_counts(workspace, row)
        return Response(body, headers=tags_of(workspace, document_id))


class DocumentTextApi(APIView):
    """The text read from a document. All offsets in the API count its characters."""

    class QuerySerializer(serializers.Serializer[Any]):
        start = serializers.IntegerField(min_value=0, default=0)
        end = serializers.IntegerField(
            min_value=0, required=False, help_text=f"At most {MOST_CHARACTERS:,} behind the start."
        )
        version = serializers.IntegerField(
            min_value=1,
            max_value=2**31 - 1,
            required=False,
            help_text="As a citation names it; the one that is searched where it is left out.",
        )

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()
        version = serializers.IntegerField()
        start = serializers.IntegerField()
        end = serializers.IntegerField()
        total = serializers.IntegerField(help_text="Characters of the whole text.")
        text = serializers.CharField(trim_whitespace=False)

    @extend_schema(
        operation_id="document_text",
        parameters=[QuerySerializer],
        responses={200: OutputSerializer, 409: ProblemSerializer, **ASKING},
    )
    def get(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Read a stretch of a document's text."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        query = self.QuerySerializer(data=request.query_params)
        query.is_valid(raise_exception=True)
        document = document_queries.document_get(workspace=workspace, document_id=document_id)
        wanted = dict(query.validated_data)
        number = wanted.pop("version", None)
        version = version_queries.version_asked(
            workspace=workspace, document=document, number=number
        )
        if version.parsed_at is None:
            raise ConflictError(
                f"'{document.title}' has not been read yet.",
                code="not_read_yet",
                next_step="Ask again when its state is 'ready'.",
            )
        start, end = _stretch(len(version.text), **wanted)
        text = version.text[start:end]
        answer = {"document": document.pk, "start": start, "end": end, "text": text}
        answer["version"] = version.number
        return Response(self.OutputSerializer(answer | {"total": len(version.text)}).data)


class DocumentRetryApi(APIView):
    """Resume a stopped document where it stopped."""

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()
        job = serializers.UUIDField()

    @extend_schema(
        operation_id="document_retry",
        request=None,
        responses={202: OutputSerializer, 409: ProblemSerializer, **WRITING},
    )
    def post(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Retry a document that needs attention."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        document = document_queries.document_get(workspace=workspace, document_id=document_id)
        job = services.document_retry(workspace=workspace, document=document)
        answer = {"document": document.pk, "job": job.pk}
        return Response(self.OutputSerializer(answer).data, status=202)


class DocumentCancelApi(APIView):
    """Stop the work on a document."""

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()

    @extend_schema(
        operation_id="document_cancel",
        request=None,
        responses={202: OutputSerializer, 409: ProblemSerializer, **WRITING},
    )
    def post(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Stop the work on a document at its next step. Finished work is kept."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        document = document_queries.document_get(workspace=workspace, document_id=document_id)
        services.document_cancel(workspace=workspace, document=document)
        return Response(self.OutputSerializer({"document": document.pk}).data, status=202)


def _form(request: ApiRequest) -> dict[str, Any]:
    """Return the form's fields, repeatable ones as lists."""
    data = cast(QueryDict, request.data)  # what the form parsers make
    if not request.FILES.getlist("file"):
        raise InputError(
            "No file was sent.",
            code="no_file",
            next_step="Send one or more files in the form field 'file'.",
        )
    fields: dict[str, Any] = {
        name: data[name] for name in ("collection", "dated") if data.get(name)
    }
    tags = [tag for given in data.getlist("tag") for tag in given.split(",")]
    return {**fields, "tag": tags, "file": request.FILES.getlist("file")}


def _with_counts(workspace: Workspace, row: document_queries.DocumentRow) -> dict[str, Any]:
    version = document_queries.document_version(workspace=workspace, document=row.document)
    [outcome] = outcomes.document_outcomes(workspace=workspace, document_ids=[row.document.pk])
    return {
        "stages": StageSerializer(row.steps, many=True).data,
        "job": row.job.pk if row.job else None,
        "entities": outcome.entities,
        "relationships": outcome.relationships,
        "language": version.language,
        "parser": version.parser,
        "encoding": version.encoding,
        "pages": len(version.pages),
        "characters": len(version.text),
        "usage": UsageSerializer(
            usage_of_document(workspace=workspace, document_id=row.document.pk)
        ).data,
    }


def _stretch(length: int, *, start: int, end: int | None = None) -> tuple[int, int]:
    """Clamp the requested offsets to the text and the limit. Raises InputError.

    >>> _stretch(10, start=4), _stretch(10, start=4, end=99)
    ((4, 10), (4, 10))
    """
    if end is not None and end < start:
        raise InputError("'end' lies before 'start'.", code="invalid_range")
    first = min(start, length)
    return first, min(length if end is None else end, length, first + MOST_CHARACTERS)

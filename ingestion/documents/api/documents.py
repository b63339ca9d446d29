"""The REST operations on documents: add, list, view, read, retry, cancel."""

from __future__ import annotations

from typing import Any, Final, cast
from uuid import UUID

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.response import Response

from ingestion.documents import outcomes, queries as document_queries, services, version_queries
from ingestion.documents.api.uploads import Intake, take_in
from ingestion.documents.services import Filing
from ingestion.history.preconditions import tags_of
from ingestion.models import DocumentState
from kb_project.errors import ConflictError, InputError
from kb_project.http.api import PageInput, PageOutput, page_of
from workspaces.api import WorkspaceAPIView, checked, reading, writing
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


class DocumentListApi(WorkspaceAPIView):
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

    @reading("document_list", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """List documents, newest first."""
        wanted = self.query()
        number, size, text = wanted.pop("page"), wanted.pop("page_size"), wanted.pop("q")
        found = document_queries.documents(workspace=self.workspace, text=text, **wanted)
        page = page_of(found, page=number, page_size=size)
        rows = document_queries.document_rows(workspace=self.workspace, documents=page.results)
        return page.of(rows)

    @writing(
        "document_add",
        takes=InputSerializer,
        media_types=("multipart/form-data",),
        gives=AddedSerializer,
        status=202,
    )
    def post(self) -> object:
        """Add one or more files. Poll each document's ``url`` to follow its progress."""
        values = checked(self.InputSerializer, _form(self.request))
        filing = Filing(values["collection"], tuple(values["tag"]), values["dated"])
        intakes = take_in(
            workspace=self.workspace, user=self.request.user, files=values["file"], filing=filing
        )
        added = [intake for intake in intakes if intake.outcome == "added"]
        return {"total": len(intakes), "added": len(added), "documents": intakes}


class DocumentsRetryApi(WorkspaceAPIView):
    """Resume all stopped documents."""

    class OutputSerializer(serializers.Serializer[Any]):
        documents = serializers.IntegerField(help_text="So many were taken up.")

    @writing("documents_retry", gives=OutputSerializer, status=202)
    def post(self) -> object:
        """Retry all documents that need attention."""
        count = services.documents_retry(workspace=self.workspace)
        return {"documents": count}


class WorkResumeApi(WorkspaceAPIView):
    """End a pause: a budget was raised, a key changed, or a model is back."""

    class OutputSerializer(serializers.Serializer[Any]):
        jobs = serializers.IntegerField(help_text="So many go on.")

    @writing("work_resume", gives=OutputSerializer, status=202)
    def post(self) -> object:
        """Resume paused work. It pauses again if the cause still exists."""
        count = services.work_resume(workspace=self.workspace)
        return {"jobs": count}


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


class DocumentApi(WorkspaceAPIView):
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

    @reading("document", gives=OutputSerializer)
    def get(self, document_id: UUID) -> object:
        """View a document and its processing state."""
        row = document_queries.document_row(workspace=self.workspace, document_id=document_id)
        body = DocumentSerializer(row).data | _with_counts(self.workspace, row)
        return Response(body, headers=tags_of(self.workspace, document_id))


class DocumentTextApi(WorkspaceAPIView):
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

    @reading("document_text", query=QuerySerializer, gives=OutputSerializer, errors=(409,))
    def get(self, document_id: UUID) -> object:
        """Read a stretch of a document's text."""
        wanted = self.query()
        document = document_queries.document_get(workspace=self.workspace, document_id=document_id)
        number = wanted.pop("version", None)
        version = version_queries.version_asked(
            workspace=self.workspace, document=document, number=number
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
        return answer | {"total": len(version.text)}


class DocumentRetryApi(WorkspaceAPIView):
    """Resume a stopped document where it stopped."""

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()
        job = serializers.UUIDField()

    @writing("document_retry", gives=OutputSerializer, status=202, errors=(409,))
    def post(self, document_id: UUID) -> object:
        """Retry a document that needs attention."""
        document = document_queries.document_get(workspace=self.workspace, document_id=document_id)
        job = services.document_retry(workspace=self.workspace, document=document)
        return {"document": document.pk, "job": job.pk}


class DocumentCancelApi(WorkspaceAPIView):
    """Stop the work on a document."""

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()

    @writing("document_cancel", gives=OutputSerializer, status=202, errors=(409,))
    def post(self, document_id: UUID) -> object:
        """Stop the work on a document at its next step. Finished work is kept."""
        document = document_queries.document_get(workspace=self.workspace, document_id=document_id)
        services.document_cancel(workspace=self.workspace, document=document)
        return {"document": document.pk}


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

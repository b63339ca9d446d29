"""The REST operations that edit, disable, trash, restore and permanently delete documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion.documents import deletion_impact, lifecycle
from ingestion.documents import queries as document_queries
from ingestion.documents.api.documents import DocumentApi, DocumentSerializer
from ingestion.documents.metadata import TITLE_LENGTH
from ingestion.history.api_changes import CHANGING, ReasonSerializer, body_of, change_of
from ingestion.history.preconditions import IF_MATCH, expected_of, tags_of
from ingestion.models import HistoryEvent
from kb_project.http.api import ASKING, PageInput, PageOutput, page_of
from workspaces import access
from workspaces.idempotency import IDEMPOTENCY_KEY, once
from workspaces.requests import ApiRequest

MOST_AT_ONCE: Final = 1000
HEADERS: Final = [IDEMPOTENCY_KEY, IF_MATCH]
FOR_GOOD: Final = OpenApiParameter(
    "for_good", bool, description="Delete it for good instead of putting it into the trash."
)

Act = Callable[..., HistoryEvent]


class MovedSerializer(serializers.Serializer[Any]):
    """What was done, and its consequences."""

    event = serializers.UUIDField(help_text="It can be undone by this id.")
    documents = serializers.ListField(child=serializers.UUIDField())
    names = serializers.DictField(child=serializers.CharField(), source="details.names")
    counts = serializers.DictField(child=serializers.IntegerField(), source="details.counts")
    twins = serializers.ListField(
        child=serializers.CharField(),
        source="details.twins",
        default=list,
        help_text="Titles of other documents of the same title or content.",
    )


class IdsSerializer(ReasonSerializer):
    ids = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=MOST_AT_ONCE
    )


class LivingDocumentApi(DocumentApi):
    """One document: view it, edit it, put it in the trash."""

    class InputSerializer(ReasonSerializer):
        title = serializers.CharField(required=False, max_length=TITLE_LENGTH)
        collection = serializers.CharField(required=False, allow_blank=True, max_length=120)
        tags = serializers.ListField(child=serializers.CharField(max_length=60), required=False)
        dated = serializers.DateField(required=False, allow_null=True)

    @extend_schema(
        operation_id="document_edit",
        parameters=HEADERS,
        request=InputSerializer,
        responses={200: DocumentSerializer, **CHANGING},
    )
    @once
    def patch(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Change a document's metadata. A new title has the document read again."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        document = document_queries.document_get(workspace=workspace, document_id=document_id)
        values = body_of(self.InputSerializer, request)
        change = change_of(request, workspace, values, seen=expected_of(request, document.pk))
        lifecycle.document_edit(change=change, document=document, **values)
        row = document_queries.document_row(workspace=workspace, document_id=document_id)
        return Response(DocumentSerializer(row).data, headers=tags_of(workspace, document_id))

    @extend_schema(
        operation_id="document_delete",
        parameters=[*HEADERS, FOR_GOOD],
        request=None,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def delete(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Put a document in the trash, or delete it for good."""
        is_for_good = request.query_params.get("for_good", "").lower() in ("1", "true")
        act = lifecycle.document_delete if is_for_good else lifecycle.document_trash
        return _moved(request, workspace_id, document_id, act)


class DocumentDisableApi(APIView):
    """Exclude a document from search without deleting it."""

    @extend_schema(
        operation_id="document_disable",
        parameters=HEADERS,
        request=ReasonSerializer,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Disable it. Nothing that was read is lost."""
        return _moved(request, workspace_id, document_id, lifecycle.document_disable)


class DocumentEnableApi(APIView):
    """Include a disabled document in search again."""

    @extend_schema(
        operation_id="document_enable",
        parameters=HEADERS,
        request=ReasonSerializer,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Enable it. Nothing is read again."""
        return _moved(request, workspace_id, document_id, lifecycle.document_enable)


class DocumentTrashApi(APIView):
    """Put a document in the trash."""

    @extend_schema(
        operation_id="document_trash",
        parameters=HEADERS,
        request=ReasonSerializer,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Put it in the trash, from which it can be restored for some days."""
        return _moved(request, workspace_id, document_id, lifecycle.document_trash)


class DocumentRestoreApi(APIView):
    """Bring a document back from the trash."""

    @extend_schema(
        operation_id="document_restore",
        parameters=HEADERS,
        request=ReasonSerializer,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Restore it as it was. Nothing is read again."""
        return _moved(request, workspace_id, document_id, lifecycle.document_restore)


class DocumentsTrashApi(APIView):
    """Put many documents in the trash at once."""

    @extend_schema(
        operation_id="documents_trash",
        parameters=[IDEMPOTENCY_KEY],
        request=IdsSerializer,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Put them in the trash: one event, one undo, one refresh."""
        return _all_moved(request, workspace_id, lifecycle.documents_trash)


class TrashSerializer(DocumentSerializer):
    """A row of the trash, from ``queries.TrashRow``."""

    trashed_at = serializers.DateTimeField(source="document.trashed_at")
    trashed_by = serializers.CharField(source="document.trashed_by.email", default=None)
    days_left = serializers.IntegerField(help_text="Until it is deleted for good.")


class TrashApi(APIView):
    """The contents of the trash."""

    class OutputSerializer(PageOutput):
        days = serializers.IntegerField(help_text="How long what is here can be restored.")
        results = TrashSerializer(many=True)

    @extend_schema(
        operation_id="trash", parameters=[PageInput], responses={200: OutputSerializer, **ASKING}
    )
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """List the trash, newest first."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        query = PageInput(data=request.query_params)
        query.is_valid(raise_exception=True)
        found = document_queries.trashed(workspace=workspace)
        page = page_of(found, **query.validated_data)
        rows = document_queries.trash_rows(workspace=workspace, documents=page.results)
        return Response(self.OutputSerializer(page.of(rows) | {"days": settings.TRASH_DAYS}).data)

    @extend_schema(
        operation_id="trash_empty",
        parameters=[IDEMPOTENCY_KEY],
        request=None,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def delete(self, request: ApiRequest, workspace_id: str) -> Response:
        """Delete everything in the trash for good."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        rows = list(document_queries.trashed(workspace=workspace))
        event = lifecycle.documents_delete(change=change_of(request, workspace, {}), documents=rows)
        return _told(event)


class TrashRestoreApi(APIView):
    """Restore many documents from the trash at once."""

    @extend_schema(
        operation_id="trash_restore",
        parameters=[IDEMPOTENCY_KEY],
        request=IdsSerializer,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Restore them as they were."""
        return _all_moved(request, workspace_id, lifecycle.documents_restore)


class LossesSerializer(serializers.Serializer[Any]):
    """What is lost with documents, and what remains because other sources support it."""

    sentence = serializers.CharField()
    passages = serializers.IntegerField()
    facts = serializers.IntegerField(help_text="They lose their only source.")
    facts_kept = serializers.IntegerField(help_text="They keep other sources.")
    entities = serializers.IntegerField(help_text="Nothing else names them.")
    entities_kept = serializers.IntegerField()


class DocumentLossesApi(APIView):
    """The consequences of removing a document."""

    @extend_schema(operation_id="document_losses", responses={200: LossesSerializer, **ASKING})
    def get(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Count what would be lost with the document."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        document = document_queries.document_get(workspace=workspace, document_id=document_id)
        found = deletion_impact.losses_of(workspace=workspace, documents=[document.pk])
        return Response(LossesSerializer(found).data)


def _moved(request: ApiRequest, workspace_id: str, document_id: UUID, act: Act) -> Response:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
    document = document_queries.document_get(workspace=workspace, document_id=document_id)
    given = body_of(ReasonSerializer, request)
    change = change_of(request, workspace, given, seen=expected_of(request, document.pk))
    event = act(change=change, document=document)
    return _told(event, tags_of(workspace, document_id))


def _all_moved(request: ApiRequest, workspace_id: str, act: Act) -> Response:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
    given = body_of(IdsSerializer, request)
    documents = document_queries.documents_get(workspace=workspace, ids=given["ids"])
    return _told(act(change=change_of(request, workspace, given), documents=documents))


def _told(event: HistoryEvent, headers: dict[str, str] | None = None) -> Response:
    subjects = event.subjects.filter(workspace=event.workspace_id)
    moved = list(subjects.values_list("subject_id", flat=True))
    told = {"event": event.pk, "documents": moved, "details": event.details}
    return Response(MovedSerializer(told).data, headers=headers or {})

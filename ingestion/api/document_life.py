"""What becomes of documents: edited, disabled, put into the trash, restored, deleted for good."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion import life, losses, selectors
from ingestion.api.deeds import CHANGING, ReasonSerializer, body_of, deed_of
from ingestion.api.documents import DocumentApi, DocumentSerializer
from ingestion.api.preconditions import IF_MATCH, expected_of, tags_of
from ingestion.editing import TITLE_LENGTH
from ingestion.models import HistoryEvent
from kb_project.api import ASKING, PageInput, PageOutput, page_of
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
    """What was done, and what followed from it."""

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
    """One document: look at it, edit it, put it into the trash."""

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
        """Change what is said of a document. With a new title it is read again."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        document = selectors.document_get(workspace=workspace, document_id=document_id)
        values = body_of(self.InputSerializer, request)
        deed = deed_of(request, workspace, values, seen=expected_of(request, document.pk))
        life.document_edit(deed=deed, document=document, **values)
        row = selectors.document_row(workspace=workspace, document_id=document_id)
        return Response(DocumentSerializer(row).data, headers=tags_of(workspace, document_id))

    @extend_schema(
        operation_id="document_delete",
        parameters=[*HEADERS, FOR_GOOD],
        request=None,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def delete(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Put a document into the trash, or delete it for good."""
        is_for_good = request.query_params.get("for_good", "").lower() in ("1", "true")
        act = life.document_delete if is_for_good else life.document_trash
        return _moved(request, workspace_id, document_id, act)


class DocumentDisableApi(APIView):
    """Search a document no more, without deleting it."""

    @extend_schema(
        operation_id="document_disable",
        parameters=HEADERS,
        request=ReasonSerializer,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Disable it. Nothing read in it is lost."""
        return _moved(request, workspace_id, document_id, life.document_disable)


class DocumentEnableApi(APIView):
    """Search a disabled document again."""

    @extend_schema(
        operation_id="document_enable",
        parameters=HEADERS,
        request=ReasonSerializer,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Enable it. Nothing is read again."""
        return _moved(request, workspace_id, document_id, life.document_enable)


class DocumentTrashApi(APIView):
    """Put a document into the trash."""

    @extend_schema(
        operation_id="document_trash",
        parameters=HEADERS,
        request=ReasonSerializer,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Put it into the trash, from where it can be restored for some days."""
        return _moved(request, workspace_id, document_id, life.document_trash)


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
        return _moved(request, workspace_id, document_id, life.document_restore)


class DocumentsTrashApi(APIView):
    """Put many documents into the trash at one stroke."""

    @extend_schema(
        operation_id="documents_trash",
        parameters=[IDEMPOTENCY_KEY],
        request=IdsSerializer,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """One event, one undo, one refresh."""
        return _all_moved(request, workspace_id, life.documents_trash)


class TrashSerializer(DocumentSerializer):
    """Made from ``selectors.TrashRow``."""

    trashed_at = serializers.DateTimeField(source="document.trashed_at")
    trashed_by = serializers.CharField(source="document.trashed_by.email", default=None)
    days_left = serializers.IntegerField(help_text="Until it is deleted for good.")


class TrashApi(APIView):
    """What is in the trash."""

    class OutputSerializer(PageOutput):
        days = serializers.IntegerField(help_text="How long what is here can be restored.")
        results = TrashSerializer(many=True)

    @extend_schema(
        operation_id="trash", parameters=[PageInput], responses={200: OutputSerializer, **ASKING}
    )
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """List it, the latest first."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        query = PageInput(data=request.query_params)
        query.is_valid(raise_exception=True)
        found = selectors.trashed(workspace=workspace)
        page = page_of(found, **query.validated_data)
        rows = selectors.trash_rows(workspace=workspace, documents=page.results)
        return Response(self.OutputSerializer(page.of(rows) | {"days": settings.TRASH_DAYS}).data)

    @extend_schema(
        operation_id="trash_empty",
        parameters=[IDEMPOTENCY_KEY],
        request=None,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def delete(self, request: ApiRequest, workspace_id: str) -> Response:
        """Delete everything in it for good."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        rows = list(selectors.trashed(workspace=workspace))
        event = life.documents_delete(deed=deed_of(request, workspace, {}), documents=rows)
        return _told(event)


class TrashRestoreApi(APIView):
    """Bring many documents back at one stroke."""

    @extend_schema(
        operation_id="trash_restore",
        parameters=[IDEMPOTENCY_KEY],
        request=IdsSerializer,
        responses={200: MovedSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Restore them as they were."""
        return _all_moved(request, workspace_id, life.documents_restore)


class LossesSerializer(serializers.Serializer[Any]):
    """What goes with documents, and what stays because others say it, too."""

    sentence = serializers.CharField()
    passages = serializers.IntegerField()
    facts = serializers.IntegerField(help_text="They lose their only source.")
    facts_kept = serializers.IntegerField(help_text="They keep other sources.")
    entities = serializers.IntegerField(help_text="Nothing else names them.")
    entities_kept = serializers.IntegerField()


class DocumentLossesApi(APIView):
    """What would follow from putting a document away."""

    @extend_schema(operation_id="document_losses", responses={200: LossesSerializer, **ASKING})
    def get(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Count what would go with it."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        document = selectors.document_get(workspace=workspace, document_id=document_id)
        found = losses.losses_of(workspace=workspace, documents=[document.pk])
        return Response(LossesSerializer(found).data)


def _moved(request: ApiRequest, workspace_id: str, document_id: UUID, act: Act) -> Response:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
    document = selectors.document_get(workspace=workspace, document_id=document_id)
    given = body_of(ReasonSerializer, request)
    deed = deed_of(request, workspace, given, seen=expected_of(request, document.pk))
    event = act(deed=deed, document=document)
    return _told(event, tags_of(workspace, document_id))


def _all_moved(request: ApiRequest, workspace_id: str, act: Act) -> Response:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
    given = body_of(IdsSerializer, request)
    documents = selectors.documents_get(workspace=workspace, ids=given["ids"])
    return _told(act(deed=deed_of(request, workspace, given), documents=documents))


def _told(event: HistoryEvent, headers: dict[str, str] | None = None) -> Response:
    subjects = event.subjects.filter(workspace=event.workspace_id)
    moved = list(subjects.values_list("subject_id", flat=True))
    told = {"event": event.pk, "documents": moved, "details": event.details}
    return Response(MovedSerializer(told).data, headers=headers or {})

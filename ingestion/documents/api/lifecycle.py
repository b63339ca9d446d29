"""The REST operations that edit, disable, trash, restore and permanently delete documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.response import Response

from ingestion.documents import archive, lifecycle, metadata, queries
from ingestion.documents.api.documents import DocumentApi, DocumentAPIView, DocumentSerializer
from ingestion.history.api import IF_MATCH, ReasonSerializer, change_of, changing, tags_of
from ingestion.models import HistoryEvent
from kb_project.http.api import PageInput, PageOutput, page_of
from workspaces.api import WorkspaceAPIView, reading

MOST_AT_ONCE: Final = 1000
FOR_GOOD: Final = OpenApiParameter(
    "for_good", bool, description="Delete the document for good instead of putting it in the trash."
)

Act = Callable[..., HistoryEvent]


class MovedSerializer(serializers.Serializer[Any]):
    """The result of the operation."""

    event = serializers.UUIDField(help_text="Id of the event in the history.")
    documents = serializers.ListField(child=serializers.UUIDField())
    names = serializers.DictField(child=serializers.CharField(), source="details.names")
    counts = serializers.DictField(child=serializers.IntegerField(), source="details.counts")
    twins = serializers.ListField(
        child=serializers.CharField(),
        source="details.twins",
        default=list,
        help_text="Titles of other documents with the same title or content.",
    )
    names_follow = serializers.BooleanField(
        source="details.names_follow",
        default=False,
        help_text="The documents are searched; a worker restores their names and facts. "
        "`change` of the document list says how far it is.",
    )


moving: Final = partial(changing, gives=MovedSerializer, parameters=(IF_MATCH,))


class IdsSerializer(ReasonSerializer):
    ids = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=MOST_AT_ONCE
    )


class LivingDocumentApi(DocumentApi):
    """One document: view it, edit it, put it in the trash."""

    class InputSerializer(ReasonSerializer):
        title = serializers.CharField(required=False, max_length=metadata.TITLE_LENGTH)
        collection = serializers.CharField(required=False, allow_blank=True, max_length=120)
        tags = serializers.ListField(
            child=serializers.CharField(max_length=metadata.TAG_LENGTH),
            required=False,
            help_text=f"At most {metadata.MOST_TAGS}.",
        )
        dated = serializers.DateField(required=False, allow_null=True)

    @changing(
        "document_edit", takes=InputSerializer, gives=DocumentSerializer, parameters=(IF_MATCH,)
    )
    def patch(self, document_id: UUID) -> object:
        """Change a document's metadata. If the title changes, the document is read again."""
        document = self.document(document_id)
        change, values = change_of(self, seen=document.pk)
        metadata.document_edit(change=change, document=document, **values)
        row = queries.document_row(workspace=self.workspace, document_id=document_id)
        return self.answer(row, tags_of(self.workspace, document_id))

    @moving("document_delete", takes=ReasonSerializer, parameters=(IF_MATCH, FOR_GOOD))
    def delete(self, document_id: UUID) -> object:
        """Put a document in the trash, or delete it for good."""
        is_for_good = self.request.query_params.get("for_good", "").lower() in ("1", "true")
        act = lifecycle.documents_delete if is_for_good else lifecycle.documents_trash
        return _moved(self, document_id, act)


def _moving(operation_id: str, act: Act, description: str) -> type[WorkspaceAPIView]:
    class MoveApi(WorkspaceAPIView):
        @moving(operation_id, takes=ReasonSerializer, description=description)
        def post(self, document_id: UUID) -> object:
            return _moved(self, document_id, act)

    return MoveApi


DocumentDisableApi = _moving(
    "document_disable",
    lifecycle.documents_disable,
    "Exclude a document from search, without deleting anything.",
)
DocumentEnableApi = _moving(
    "document_enable",
    lifecycle.documents_enable,
    "Include a disabled document in search again. It is not read again.",
)
DocumentTrashApi = _moving(
    "document_trash",
    lifecycle.documents_trash,
    "Put a document in the trash. It can be restored until it is deleted for good.",
)
DocumentRestoreApi = _moving(
    "document_restore",
    lifecycle.documents_restore,
    "Restore a document from the trash as it was. It is not read again.",
)


class DocumentsTrashApi(WorkspaceAPIView):
    """Put many documents in the trash at once."""

    @changing("documents_trash", takes=IdsSerializer, gives=MovedSerializer)
    def post(self) -> object:
        """Put documents in the trash. One undo restores all of them."""
        return _all_moved(self, lifecycle.documents_trash)


class TrashSerializer(DocumentSerializer):
    """A document in the trash."""

    trashed_at = serializers.DateTimeField(source="document.trashed_at")
    trashed_by = serializers.CharField(source="document.trashed_by", default=None, allow_null=True)
    days_left = serializers.IntegerField(help_text="Days until it is deleted for good.")


class TrashApi(WorkspaceAPIView):
    """The contents of the trash."""

    class OutputSerializer(PageOutput):
        days = serializers.IntegerField(help_text="Days for which a document can be restored.")
        results = TrashSerializer(many=True)

    @reading("trash", query=PageInput, gives=OutputSerializer)
    def get(self) -> object:
        """List the documents in the trash, newest first."""
        query = self.query()
        found = queries.trashed(workspace=self.workspace)
        page = page_of(found, **query)
        rows = queries.trash_rows(workspace=self.workspace, documents=page.results)
        return page.of(rows) | {"days": settings.TRASH_DAYS}

    @changing("trash_empty", gives=MovedSerializer)
    def delete(self) -> object:
        """Delete everything in the trash for good."""
        rows = list(queries.trashed(workspace=self.workspace))
        change, _ = change_of(self)
        return _summary(lifecycle.documents_delete(change=change, documents=rows))


class TrashRestoreApi(WorkspaceAPIView):
    """Restore many documents from the trash at once."""

    @changing("trash_restore", takes=IdsSerializer, gives=MovedSerializer)
    def post(self) -> object:
        """Restore documents from the trash as they were."""
        return _all_moved(self, lifecycle.documents_restore)


class LossesSerializer(serializers.Serializer[Any]):
    """What is lost with a document, and what remains because other sources support it."""

    sentence = serializers.CharField()
    passages = serializers.IntegerField()
    facts = serializers.IntegerField(help_text="Facts that lose their only source.")
    facts_kept = serializers.IntegerField(help_text="Facts that keep a source.")
    entities = serializers.IntegerField(help_text="Entities named nowhere else.")
    entities_kept = serializers.IntegerField(help_text="Entities also named elsewhere.")


class DocumentLossesApi(DocumentAPIView):
    """The consequences of removing a document."""

    @reading("document_losses", gives=LossesSerializer, errors=(400,))
    def get(self, document_id: UUID) -> object:
        """Count what would be lost with a document."""
        document = self.document(document_id)
        return archive.losses_of(workspace=self.workspace, documents=[document.pk])


def _moved(view: WorkspaceAPIView, document_id: UUID, act: Act) -> Response:
    document = queries.document_get(workspace=view.workspace, document_id=document_id)
    change, _ = change_of(view, seen=document.pk)
    moved = _summary(act(change=change, documents=[document]))
    return view.answer(moved, tags_of(view.workspace, document_id))


def _all_moved(view: WorkspaceAPIView, act: Act) -> dict[str, Any]:
    change, wanted = change_of(view)
    documents = queries.documents_get(workspace=view.workspace, ids=wanted["ids"])
    return _summary(act(change=change, documents=documents))


def _summary(event: HistoryEvent) -> dict[str, Any]:
    subjects = event.subjects.filter(workspace=event.workspace_id)
    moved = list(subjects.values_list("subject_id", flat=True))
    return {"event": event.pk, "documents": moved, "details": event.details}

"""The REST operations on collections and their documents."""

from __future__ import annotations

from functools import partial
from typing import Any, Final
from uuid import UUID

from rest_framework import serializers

from ingestion.documents import queries as document_queries
from ingestion.documents.api.documents import DocumentSerializer
from ingestion.documents.collections import queries, services
from ingestion.documents.collections.services import MoveOutcome, Moves
from ingestion.history.api import IF_MATCH, ReasonSerializer, change_of, changing, tags_of
from ingestion.models import Collection
from kb_project.errors import InputError
from kb_project.http.api import PageInput, PageOutput, page_of
from workspaces.api import WorkspaceAPIView, reading

MOST_AT_ONCE: Final = 1000


class CollectionSerializer(serializers.Serializer[Any]):
    """A collection; documents in the trash do not count."""

    id = serializers.UUIDField(source="collection.pk")
    name = serializers.CharField(source="collection.name")
    documents = serializers.IntegerField()


class NameSerializer(ReasonSerializer):
    name = serializers.CharField(
        max_length=services.NAME_LENGTH, help_text="Unique in the workspace, ignoring case."
    )


changing_one: Final = partial(changing, parameters=(IF_MATCH,))


class CollectionAPIView(WorkspaceAPIView):
    """A view of one collection."""

    def collection(self, collection_id: UUID) -> Collection:
        """Return the collection. Raises NotFoundError."""
        return queries.collection_get(workspace=self.workspace, collection_id=collection_id)

    def shown(self, collection_id: UUID) -> object:
        """Answer with the collection and its entity tag."""
        row = queries.collection_row(workspace=self.workspace, collection_id=collection_id)
        return self.answer(row, tags_of(self.workspace, collection_id))


class CollectionListApi(CollectionAPIView):
    """The collections of a workspace."""

    class OutputSerializer(PageOutput):
        results = CollectionSerializer(many=True)

    @reading("collection_list", query=PageInput, gives=OutputSerializer)
    def get(self) -> object:
        """List collections by name."""
        page = page_of(queries.collections(workspace=self.workspace), **self.query())
        return page.of(queries.collection_rows(workspace=self.workspace, collections=page.results))

    @changing("collection_create", takes=NameSerializer, gives=CollectionSerializer, status=201)
    def post(self) -> object:
        """Create an empty collection."""
        change, wanted = change_of(self)
        return self.shown(services.collection_create(change=change, **wanted).pk)


class CollectionApi(CollectionAPIView):
    """One collection."""

    @reading("collection", gives=CollectionSerializer)
    def get(self, collection_id: UUID) -> object:
        """View a collection."""
        return self.shown(collection_id)

    @changing_one("collection_rename", takes=NameSerializer, gives=CollectionSerializer)
    def patch(self, collection_id: UUID) -> object:
        """Rename a collection."""
        collection = self.collection(collection_id)
        change, wanted = change_of(self, seen=collection_id)
        services.collection_rename(change=change, collection=collection, **wanted)
        return self.shown(collection_id)

    @changing_one("collection_delete", takes=ReasonSerializer, status=204)
    def delete(self, collection_id: UUID) -> None:
        """Delete a collection. Its documents are kept, in no collection."""
        collection = self.collection(collection_id)
        change, _ = change_of(self, seen=collection_id)
        services.collection_delete(change=change, collection=collection)


class MoveSerializer(serializers.Serializer[Any]):
    """What became of one document."""

    document = serializers.UUIDField()
    outcome = serializers.ChoiceField(
        choices=[one.value for one in MoveOutcome],
        help_text="`unchanged`: it was in the collection already, or was not in it to be removed.",
    )


class CollectionDocumentsApi(CollectionAPIView):
    """The documents of a collection."""

    class OutputSerializer(PageOutput):
        results = DocumentSerializer(many=True)

    class InputSerializer(ReasonSerializer):
        add = serializers.ListField(
            child=serializers.UUIDField(),
            required=False,
            default=list,
            max_length=MOST_AT_ONCE,
            help_text="Ids of documents to move here, from whichever collection they are in.",
        )
        remove = serializers.ListField(
            child=serializers.UUIDField(),
            required=False,
            default=list,
            max_length=MOST_AT_ONCE,
            help_text="Ids of documents to take out. They are kept, in no collection.",
        )

    class MovesSerializer(serializers.Serializer[Any]):
        events = serializers.ListField(
            child=serializers.UUIDField(), help_text="Ids of the events in the history."
        )
        added = MoveSerializer(many=True)
        removed = MoveSerializer(many=True)

    @reading("collection_documents", query=PageInput, gives=OutputSerializer)
    def get(self, collection_id: UUID) -> object:
        """List a collection's documents, newest first."""
        collection = self.collection(collection_id)
        found = document_queries.documents(workspace=self.workspace, collection=str(collection.pk))
        page = page_of(found, **self.query())
        return page.of(
            document_queries.document_rows(workspace=self.workspace, documents=page.results)
        )

    @changing_one("collection_documents_change", takes=InputSerializer, gives=MovesSerializer)
    def patch(self, collection_id: UUID) -> object:
        """Move documents into a collection, and take others out of it. Each has its outcome."""
        collection = self.collection(collection_id)
        change, wanted = change_of(self, seen=collection_id)
        if not wanted["add"] and not wanted["remove"]:
            raise InputError(
                "No document is named.",
                kept="Nothing was changed.",
                next_step="Send ids in 'add', 'remove', or both.",
            )
        moves = services.documents_change(
            change=change, collection=collection, add=wanted["add"], remove=wanted["remove"]
        )
        events = [one.event.pk for one in moves if one.event is not None]
        added, removed = map(_outcomes, moves)
        return self.answer(
            {"events": events, "added": added, "removed": removed},
            tags_of(self.workspace, collection_id),
        )


def _outcomes(moves: Moves) -> list[dict[str, object]]:
    return [{"document": one, "outcome": said} for one, said in moves.outcomes.items()]

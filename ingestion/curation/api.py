"""The REST operations on entities for curators: create, edit, merge, split, distinguish, delete."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from rest_framework import serializers

from ingestion.curation import distinct, entities, merging, previewing, splitting
from ingestion.curation.effects import Effect
from ingestion.curation.entities_api import EntityApi, EntityListApi
from ingestion.curation.history_api import (
    EventSerializer,
    curated,
    curation,
    curation_of_one,
    event_answer,
)
from ingestion.curation.splitting import Selection
from ingestion.curation.validation import DESCRIPTION_LENGTH, TYPE_LENGTH
from ingestion.history.api_changes import ReasonSerializer, change_of, correcting
from ingestion.history.preconditions import ExpectedField
from workspaces.api import WorkspaceAPIView

MOST_SELECTED: Final = 1000
# The services check length and content, and say what to do about it.
TEXT: Final[dict[str, Any]] = {"required": False, "allow_blank": True, "trim_whitespace": False}


def _ids(most: int = MOST_SELECTED, **more: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.UUIDField(), max_length=most, **more)


def _texts(**more: Any) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(allow_blank=True), max_length=MOST_SELECTED, **more
    )


class CuratedEntityListApi(EntityListApi):
    """The entities of a workspace."""

    class InputSerializer(ReasonSerializer):
        name = serializers.CharField(allow_blank=True, trim_whitespace=False)
        type = serializers.CharField(allow_blank=True, help_text=f"At most {TYPE_LENGTH} letters.")
        description = serializers.CharField(
            **TEXT, default="", help_text=f"At most {DESCRIPTION_LENGTH:,} characters."
        )
        aliases = _texts(required=False, default=list)

    @curation("entity_create", takes=InputSerializer, status=201)
    def post(self) -> object:
        """Add an entity that needs no document; its id is the event's 'entity'."""
        return curated(self, previewing.create, entities.entity_create)


class CuratedEntityApi(EntityApi):
    """One entity."""

    class InputSerializer(ReasonSerializer):
        name = serializers.CharField(**TEXT)
        type = serializers.CharField(**TEXT)
        description = serializers.CharField(**TEXT)
        add_aliases = _texts(required=False)
        remove_aliases = _texts(required=False)
        is_protected = serializers.BooleanField(
            required=False, help_text="Nothing that documents bring changes its wording."
        )
        is_confirmed = serializers.BooleanField(required=False)

    @curation_of_one("entity_edit", takes=InputSerializer)
    def patch(self, entity_id: UUID) -> object:
        """Set an entity's name, type, description and aliases, overriding the documents."""
        return curated(
            self, previewing.edit, entities.entity_edit, seen=entity_id, entity=entity_id
        )

    @curation_of_one("entity_delete")
    def delete(self, entity_id: UUID) -> object:
        """Delete an entity, whatever documents say of it later. This can be undone."""
        return curated(
            self, previewing.delete, entities.entity_delete, seen=entity_id, entity=entity_id
        )


class EntityMergeApi(WorkspaceAPIView):
    """Merging entities that are the same."""

    class InputSerializer(ReasonSerializer):
        kept = serializers.UUIDField(help_text="Its id and its name stay.")
        others = _ids(help_text=f"With what is kept at most {merging.MOST}.")
        name = serializers.CharField(**TEXT, help_text="A new name for what is kept.")
        expected = ExpectedField()

    @curation("entity_merge", takes=InputSerializer)
    def post(self) -> object:
        """Merge entities into one of them, with all their evidence."""
        return curated(self, _merge_preview, merging.entities_merge)


class EntityDifferApi(WorkspaceAPIView):
    """Marking entities as not the same."""

    class InputSerializer(ReasonSerializer):
        entities = _ids()
        expected = ExpectedField()

    @correcting("entity_differ", takes=InputSerializer, gives=EventSerializer)
    def post(self) -> object:
        """Record that no two of the entities are the same; later runs obey it."""
        change, wanted = change_of(self)
        return event_answer(self, distinct.entities_differ(change=change, **wanted))


class SelectionSerializer(ReasonSerializer):
    """A selection of an entity's mentions that match any of these."""

    documents = _ids(required=False, default=list)
    chunks = _ids(required=False, default=list, help_text="Passages.")
    aliases = _texts(required=False, default=list, help_text="Names, as documents write them.")
    mentions = _ids(required=False, default=list)

    def to_internal_value(self, data: Any) -> Any:
        values = super().to_internal_value(data)
        parts = {name: tuple(values.pop(name)) for name in Selection.__slots__}
        return values | {"selection": Selection(**parts)}


class EntitySplitApi(WorkspaceAPIView):
    """Splitting mentions off an entity."""

    class InputSerializer(SelectionSerializer):
        name = serializers.CharField(allow_blank=True, trim_whitespace=False)
        type = serializers.CharField(**TEXT)

    @curation_of_one("entity_split", takes=InputSerializer)
    def post(self, entity_id: UUID) -> object:
        """Move some mentions to a new entity; its id is the event's 'entity'."""
        return curated(
            self, previewing.split, splitting.entity_split, seen=entity_id, entity=entity_id
        )


class EntityMoveApi(WorkspaceAPIView):
    """Moving mentions to another entity."""

    class InputSerializer(SelectionSerializer):
        target = serializers.UUIDField(help_text="The entity they mean.")
        expected = ExpectedField()

    @curation_of_one("entity_move", takes=InputSerializer)
    def post(self, entity_id: UUID) -> object:
        """Move some mentions of an entity to another existing one."""
        return curated(
            self, previewing.move, splitting.mentions_move, seen=entity_id, entity=entity_id
        )


def _merge_preview(*, name: str = "", **wanted: Any) -> Effect:
    """The name of what is kept changes nothing else."""
    return previewing.merge(**wanted)

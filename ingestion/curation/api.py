"""The REST operations on entities for curators: create, edit, merge, split, distinguish, delete."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion.curation import distinct, entities, merging, previewing, splitting
from ingestion.curation.entities_api import EntityApi, EntityListApi
from ingestion.curation.history_api import (
    PREVIEW,
    EventSerializer,
    effect_response,
    event_response,
    wants_preview,
)
from ingestion.curation.splitting import Selection
from ingestion.curation.validation import DESCRIPTION_LENGTH, TYPE_LENGTH
from ingestion.history.api_changes import CHANGING, ReasonSerializer, body_of, change_of
from ingestion.history.preconditions import IF_MATCH, ExpectedField, expected_of
from workspaces import access
from workspaces.idempotency import IDEMPOTENCY_KEY, once
from workspaces.models import Workspace
from workspaces.requests import ApiRequest

MOST_SELECTED: Final = 1000
# The services check length and content, and say what to do about it.
TEXT: Final[dict[str, Any]] = {"required": False, "allow_blank": True, "trim_whitespace": False}


def _ids(most: int = MOST_SELECTED, **more: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.UUIDField(), max_length=most, **more)


def _texts(**more: Any) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(allow_blank=True), max_length=MOST_SELECTED, **more
    )


def curating(request: ApiRequest, workspace_id: str) -> Workspace:
    return access.workspace_for_curating(user=request.user, workspace_id=workspace_id)


class CuratedEntityListApi(EntityListApi):
    """The entities of a workspace."""

    class InputSerializer(ReasonSerializer):
        name = serializers.CharField(allow_blank=True, trim_whitespace=False)
        type = serializers.CharField(allow_blank=True, help_text=f"At most {TYPE_LENGTH} letters.")
        description = serializers.CharField(
            **TEXT, default="", help_text=f"At most {DESCRIPTION_LENGTH:,} characters."
        )
        aliases = _texts(required=False, default=list)

    @extend_schema(
        operation_id="entity_create",
        request=InputSerializer,
        parameters=[PREVIEW, IDEMPOTENCY_KEY],
        responses={201: EventSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Add an entity that needs no document; its id is the event's 'entity'."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request)
        change = change_of(request, workspace, wanted)
        if wants_preview(request):
            return effect_response(previewing.create(workspace=workspace, **wanted))
        return event_response(workspace, entities.entity_create(change=change, **wanted), 201)


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

    @extend_schema(
        operation_id="entity_edit",
        request=InputSerializer,
        parameters=[PREVIEW, IF_MATCH, IDEMPOTENCY_KEY],
        responses={200: EventSerializer, **CHANGING},
    )
    @once
    def patch(self, request: ApiRequest, workspace_id: str, entity_id: UUID) -> Response:
        """Set an entity's name, type, description and aliases, overriding the documents."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request)
        change = change_of(request, workspace, wanted, seen=expected_of(request, entity_id))
        if wants_preview(request):
            return effect_response(previewing.edit(workspace=workspace, entity=entity_id, **wanted))
        event = entities.entity_edit(change=change, entity=entity_id, **wanted)
        return event_response(workspace, event)

    @extend_schema(
        operation_id="entity_delete",
        parameters=[PREVIEW, IF_MATCH, IDEMPOTENCY_KEY],
        responses={200: EventSerializer, **CHANGING},
    )
    @once
    def delete(self, request: ApiRequest, workspace_id: str, entity_id: UUID) -> Response:
        """Delete an entity, whatever documents say of it later. This can be undone."""
        workspace = curating(request, workspace_id)
        if wants_preview(request):
            return effect_response(previewing.delete(workspace=workspace, entity=entity_id))
        change = change_of(request, workspace, {}, seen=expected_of(request, entity_id))
        return event_response(workspace, entities.entity_delete(change=change, entity=entity_id))


class EntityMergeApi(APIView):
    """Merging entities that are the same."""

    class InputSerializer(ReasonSerializer):
        kept = serializers.UUIDField(help_text="Its id and its name stay.")
        others = _ids(help_text=f"With what is kept at most {merging.MOST}.")
        name = serializers.CharField(**TEXT, help_text="A new name for what is kept.")
        expected = ExpectedField()

    @extend_schema(
        operation_id="entity_merge",
        request=InputSerializer,
        parameters=[PREVIEW, IDEMPOTENCY_KEY],
        responses={200: EventSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Merge entities into one of them, with all their evidence."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request)
        change = change_of(request, workspace, wanted)
        if wants_preview(request):
            return effect_response(
                previewing.merge(workspace=workspace, kept=wanted["kept"], others=wanted["others"])
            )
        return event_response(workspace, merging.entities_merge(change=change, **wanted))


class EntityDifferApi(APIView):
    """Marking entities as not the same."""

    class InputSerializer(ReasonSerializer):
        entities = _ids()
        expected = ExpectedField()

    @extend_schema(
        operation_id="entity_differ",
        request=InputSerializer,
        parameters=[IDEMPOTENCY_KEY],
        responses={200: EventSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Record that no two of the entities are the same; later runs obey it."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request)
        change = change_of(request, workspace, wanted)
        return event_response(workspace, distinct.entities_differ(change=change, **wanted))


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


class EntitySplitApi(APIView):
    """Splitting mentions off an entity."""

    class InputSerializer(SelectionSerializer):
        name = serializers.CharField(allow_blank=True, trim_whitespace=False)
        type = serializers.CharField(**TEXT)

    @extend_schema(
        operation_id="entity_split",
        request=InputSerializer,
        parameters=[PREVIEW, IF_MATCH, IDEMPOTENCY_KEY],
        responses={200: EventSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str, entity_id: UUID) -> Response:
        """Move some mentions to a new entity; its id is the event's 'entity'."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request) | {"entity": entity_id}
        change = change_of(request, workspace, wanted, seen=expected_of(request, entity_id))
        if wants_preview(request):
            return effect_response(previewing.split(workspace=workspace, **wanted))
        return event_response(workspace, splitting.entity_split(change=change, **wanted))


class EntityMoveApi(APIView):
    """Moving mentions to another entity."""

    class InputSerializer(SelectionSerializer):
        target = serializers.UUIDField(help_text="The entity they mean.")
        expected = ExpectedField()

    @extend_schema(
        operation_id="entity_move",
        request=InputSerializer,
        parameters=[PREVIEW, IF_MATCH, IDEMPOTENCY_KEY],
        responses={200: EventSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str, entity_id: UUID) -> Response:
        """Move some mentions of an entity to another existing one."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request) | {"entity": entity_id}
        change = change_of(request, workspace, wanted, seen=expected_of(request, entity_id))
        if wants_preview(request):
            return effect_response(previewing.move(workspace=workspace, **wanted))
        return event_response(workspace, splitting.mentions_move(change=change, **wanted))

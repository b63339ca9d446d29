"""Entities, as curators change them: made, worded, merged, split, told apart, deleted."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion.api.deeds import CHANGING, ReasonSerializer, body_of, deed_of
from ingestion.api.entities import EntityApi, EntityListApi
from ingestion.api.history import (
    PREVIEW,
    EventSerializer,
    effect_response,
    event_response,
    wants_preview,
)
from ingestion.api.preconditions import IF_MATCH, ExpectedField, expected_of
from ingestion.curation import differing, entities, merging, previewing, splitting
from ingestion.curation.given import DESCRIPTION_LENGTH, TYPE_LENGTH
from ingestion.curation.splitting import Selection
from workspaces import access
from workspaces.idempotency import IDEMPOTENCY_KEY, once
from workspaces.models import Workspace
from workspaces.requests import ApiRequest

MOST_SELECTED: Final = 1000
# The services look at length and content themselves, and say what to do about it.
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
        """Add an entity that stands without a document; its id is the event's 'entity'."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request)
        deed = deed_of(request, workspace, wanted)
        if wants_preview(request):
            return effect_response(previewing.create(workspace=workspace, **wanted))
        return event_response(workspace, entities.entity_create(deed=deed, **wanted), 201)


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
        """Say what an entity is called and what it is, whatever documents say."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request)
        deed = deed_of(request, workspace, wanted, seen=expected_of(request, entity_id))
        if wants_preview(request):
            return effect_response(previewing.edit(workspace=workspace, entity=entity_id, **wanted))
        event = entities.entity_edit(deed=deed, entity=entity_id, **wanted)
        return event_response(workspace, event)

    @extend_schema(
        operation_id="entity_delete",
        parameters=[PREVIEW, IF_MATCH, IDEMPOTENCY_KEY],
        responses={200: EventSerializer, **CHANGING},
    )
    @once
    def delete(self, request: ApiRequest, workspace_id: str, entity_id: UUID) -> Response:
        """Keep nothing of an entity, whatever documents say of it later. It can be undone."""
        workspace = curating(request, workspace_id)
        if wants_preview(request):
            return effect_response(previewing.delete(workspace=workspace, entity=entity_id))
        deed = deed_of(request, workspace, {}, seen=expected_of(request, entity_id))
        return event_response(workspace, entities.entity_delete(deed=deed, entity=entity_id))


class EntityMergeApi(APIView):
    """Several entities that are one."""

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
        """Read entities as one of them; what they rest on is united."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request)
        deed = deed_of(request, workspace, wanted)
        if wants_preview(request):
            return effect_response(
                previewing.merge(workspace=workspace, kept=wanted["kept"], others=wanted["others"])
            )
        return event_response(workspace, merging.entities_merge(deed=deed, **wanted))


class EntityDifferApi(APIView):
    """Entities that are not the same."""

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
        """Say that no two of the entities are the same: remembered, whatever is found later."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request)
        deed = deed_of(request, workspace, wanted)
        return event_response(workspace, differing.entities_differ(deed=deed, **wanted))


class SelectionSerializer(ReasonSerializer):
    """Mentions of an entity, by what they have in common: any of these."""

    documents = _ids(required=False, default=list)
    chunks = _ids(required=False, default=list, help_text="Passages.")
    aliases = _texts(required=False, default=list, help_text="Names, as documents write them.")
    mentions = _ids(required=False, default=list)

    def to_internal_value(self, data: Any) -> Any:
        values = super().to_internal_value(data)
        parts = {name: tuple(values.pop(name)) for name in Selection.__slots__}
        return values | {"selection": Selection(**parts)}


class EntitySplitApi(APIView):
    """Mentions that mean something else than what they are read as."""

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
        """Have some mentions mean a new entity; its id is the event's 'entity'."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request) | {"entity": entity_id}
        deed = deed_of(request, workspace, wanted, seen=expected_of(request, entity_id))
        if wants_preview(request):
            return effect_response(previewing.split(workspace=workspace, **wanted))
        return event_response(workspace, splitting.entity_split(deed=deed, **wanted))


class EntityMoveApi(APIView):
    """Mentions that mean another entity."""

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
        """Have some mentions of an entity mean another one that is there."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request) | {"entity": entity_id}
        deed = deed_of(request, workspace, wanted, seen=expected_of(request, entity_id))
        if wants_preview(request):
            return effect_response(previewing.move(workspace=workspace, **wanted))
        return event_response(workspace, splitting.mentions_move(deed=deed, **wanted))

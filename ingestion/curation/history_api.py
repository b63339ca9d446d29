"""The REST operations on history: who did what, its effect, and undoing it."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion.curation import effects, previewing
from ingestion.curation.effects import Effect
from ingestion.curation.undoing import event_undo
from ingestion.history import queries
from ingestion.history.api_changes import CHANGING, ReasonSerializer, body_of, change_of
from ingestion.models import EventKind, HistoryEvent
from kb_project.http.api import ASKING, READING, PageInput, PageOutput
from kb_project.http.api import page_of as page_of_rows
from workspaces import access
from workspaces.idempotency import IDEMPOTENCY_KEY, once
from workspaces.models import Workspace
from workspaces.requests import ApiRequest

PREVIEW: Final = OpenApiParameter(
    "preview",
    bool,
    OpenApiParameter.QUERY,
    description="Say what it would do, and do nothing: the answer is an effect.",
)


@extend_schema_serializer(component_name="CurationEffect")
class EffectSerializer(serializers.Serializer[Any]):
    """The effect of an operation, the same in its preview and afterwards."""

    sentence = serializers.CharField()
    notes = serializers.ListField(child=serializers.CharField(), help_text="To think of first.")
    mentions = serializers.IntegerField()
    facts = serializers.IntegerField()
    duplicates = serializers.IntegerField(help_text="Facts that say what another one says.")
    self_loops = serializers.IntegerField(help_text="Facts of a thing about itself: dropped.")
    conflicts = serializers.IntegerField(help_text="Fields with several values; all are kept.")
    reports = serializers.IntegerField(help_text="Reports that will be rewritten.")
    passages = serializers.IntegerField()
    entities = serializers.IntegerField(help_text="Entities that nothing else names.")
    kept_facts = serializers.IntegerField(help_text="Facts that rest on other documents, too.")


class BlockerSerializer(serializers.Serializer[Any]):
    event = serializers.UUIDField(source="event_id")
    sentence = serializers.CharField()


class EventSerializer(serializers.Serializer[Any]):
    """One change someone made."""

    id = serializers.UUIDField(source="event.pk")
    sequence = serializers.IntegerField(
        source="event.sequence", help_text="The revision, from then on, of all it was done to."
    )
    kind = serializers.ChoiceField(choices=EventKind.choices, source="event.kind")
    sentence = serializers.CharField()
    who = serializers.CharField()
    when = serializers.DateTimeField()
    reason = serializers.CharField(allow_blank=True)
    via = serializers.CharField(source="event.via", allow_blank=True)
    request_id = serializers.CharField(source="event.request_id", allow_blank=True)
    batch = serializers.UUIDField(source="event.batch", allow_null=True)
    names = serializers.DictField(
        child=serializers.CharField(), help_text="What it was done to, by id, as called then."
    )
    entity = serializers.UUIDField(
        allow_null=True, help_text="What was made or kept, where it is an entity."
    )
    relationship = serializers.UUIDField(allow_null=True)
    before = serializers.DictField()
    after = serializers.DictField()
    conflicts = serializers.ListField(
        child=serializers.DictField(), help_text="Different values, with who or what says so."
    )
    effect = EffectSerializer()
    is_undone = serializers.BooleanField()
    can_undo = serializers.BooleanField()
    blocked_by = BlockerSerializer(allow_null=True, help_text="To be taken back first.")


def shown(view: queries.EventView) -> dict[str, Any]:
    details = view.event.details
    data: dict[str, Any] = {name: getattr(view, name) for name in view.__slots__}
    made = (details.get(name) for name in ("into", "kept", "entity"))
    return data | {
        "entity": next((one for one in made if one), None),
        "relationship": details.get("relationship"),
        "conflicts": details.get("conflicts", []),
        "effect": told(effects.of_event(view.event)),
    }


def told(effect: Effect) -> dict[str, Any]:
    return {"sentence": effect.sentence, "notes": list(effect.notes), **effect.figures}


def effect_response(effect: Effect) -> Response:
    return Response(EffectSerializer(told(effect)).data)


def event_response(workspace: Workspace, event: HistoryEvent, status: int = 200) -> Response:
    [view] = queries.event_views(workspace=workspace, rows=[event])
    headers = {"ETag": f'"{event.sequence}"'}
    return Response(EventSerializer(shown(view)).data, status, headers=headers)


def wants_preview(request: ApiRequest) -> bool:
    return request.query_params.get("preview", "").lower() in ("1", "true", "yes")


class HistoryListApi(APIView):
    """The history of a workspace."""

    class QuerySerializer(PageInput):
        subject = serializers.UUIDField(
            required=False, help_text="An entity, a relationship or a document."
        )
        user = serializers.IntegerField(required=False)
        kind = serializers.ChoiceField(choices=EventKind.choices, required=False)
        before = serializers.IntegerField(
            required=False, min_value=1, help_text="A sequence: only what was done earlier."
        )

    class OutputSerializer(PageOutput):
        results = EventSerializer(many=True)

    @extend_schema(
        operation_id="history_list",
        parameters=[QuerySerializer],
        responses={200: OutputSerializer, **ASKING},
    )
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """List changes, newest first."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        query = self.QuerySerializer(data=request.query_params)
        query.is_valid(raise_exception=True)
        wanted = query.validated_data
        rows = queries.events(
            workspace=workspace,
            subject_id=wanted.get("subject"),
            user=wanted.get("user"),
            kind=wanted.get("kind", ""),
            before=wanted.get("before"),
        )
        page = page_of_rows(rows, page=wanted["page"], page_size=wanted["page_size"])
        views = queries.event_views(workspace=workspace, rows=page.results)
        return Response(self.OutputSerializer(page.of([shown(view) for view in views])).data)


class HistoryApi(APIView):
    """One event."""

    @extend_schema(operation_id="history_event", responses={200: EventSerializer, **READING})
    def get(self, request: ApiRequest, workspace_id: str, event_id: UUID) -> Response:
        """View a change, and whether it can be undone."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        event = queries.event_get(workspace=workspace, event_id=event_id)
        [view] = queries.event_views(workspace=workspace, rows=[event])
        return Response(EventSerializer(shown(view)).data)


class HistoryUndoApi(APIView):
    """Undoing an event."""

    @extend_schema(
        operation_id="history_undo",
        request=ReasonSerializer,
        parameters=[PREVIEW, IDEMPOTENCY_KEY],
        responses={200: EventSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str, event_id: UUID) -> Response:
        """Undo an event and its whole batch. If later changes prevent it, they are named."""
        workspace, event = _may_undo(request, workspace_id, event_id)
        if wants_preview(request):
            return effect_response(previewing.undo(workspace=workspace, event=event))
        change = change_of(request, workspace, body_of(ReasonSerializer, request))
        return event_response(workspace, event_undo(change=change, event=event))


def _may_undo(
    request: ApiRequest, workspace_id: str, event_id: UUID
) -> tuple[Workspace, HistoryEvent]:
    """Editors undo changes to documents, curators changes to entities."""
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    event = queries.event_get(workspace=workspace, event_id=event_id)
    gate = (
        access.workspace_for_writing
        if queries.is_of_documents(event)
        else access.workspace_for_curating
    )
    return gate(user=request.user, workspace_id=workspace_id), event

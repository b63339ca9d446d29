"""The REST operations on history and on decisions about names: list, decide and undo."""

from __future__ import annotations

from functools import partial
from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema_serializer
from rest_framework import serializers
from rest_framework.response import Response

from ingestion.curation import effects, merging
from ingestion.curation.effects import Effect
from ingestion.curation.previewing import Service, preview
from ingestion.curation.undoing import decision_undo, event_undo
from ingestion.documents import queries as document_queries
from ingestion.history import queries
from ingestion.history.api import IF_MATCH, ReasonSerializer, change_of, correcting
from ingestion.history.recording import REASON_LENGTH
from ingestion.knowledge import queries as knowledge_queries
from ingestion.models import HistoryEvent, ResolutionDecision, Verdict
from ingestion.resolution import queries as resolution_queries
from kb_project.http.api import PageInput, PageOutput, page_of
from workspaces import access
from workspaces.api import WorkspaceAPIView, curating, reading
from workspaces.models import Capability

PREVIEW: Final = OpenApiParameter(
    "preview",
    bool,
    OpenApiParameter.QUERY,
    description="Return the effect the operation would have, without carrying it out.",
)


@extend_schema_serializer(component_name="CurationEffect")
class EffectSerializer(serializers.Serializer[Any]):
    """The effect of an operation, as previewed or as carried out."""

    sentence = serializers.CharField(
        allow_blank=True, help_text="The figures in words; empty if all of them are 0."
    )
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="Points to consider first."
    )
    mentions = serializers.IntegerField()
    facts = serializers.IntegerField()
    duplicates = serializers.IntegerField(help_text="Facts that repeat another fact.")
    self_loops = serializers.IntegerField(
        help_text="Facts that would connect an entity to itself; they are dropped."
    )
    conflicts = serializers.IntegerField(
        help_text="Fields with conflicting values; all values are kept."
    )
    reports = serializers.IntegerField(help_text="Reports that will be rewritten.")
    passages = serializers.IntegerField()
    entities = serializers.IntegerField(help_text="Entities named nowhere else.")
    kept_facts = serializers.IntegerField(help_text="Facts that other documents support too.")


class BlockerSerializer(serializers.Serializer[Any]):
    event = serializers.UUIDField(source="event_id")
    sentence = serializers.CharField()
    is_for_good = serializers.BooleanField(
        help_text="That event can't be undone, so this one can't be undone either."
    )


class EventSerializer(serializers.Serializer[Any]):
    """A change in the history."""

    id = serializers.UUIDField(source="event.pk")
    sequence = serializers.IntegerField(
        source="event.sequence",
        help_text="The event's number, which is also the new revision of everything it changed.",
    )
    kind = serializers.ChoiceField(choices=queries.LISTED, source="event.kind")
    sentence = serializers.CharField()
    who = serializers.CharField()
    when = serializers.DateTimeField()
    reason = serializers.CharField(allow_blank=True)
    via = serializers.CharField(source="event.via", allow_blank=True)
    token = serializers.CharField(allow_blank=True, help_text="The API token used, if any.")
    request_id = serializers.CharField(source="event.request_id", allow_blank=True)
    batch = serializers.UUIDField(source="event.batch", allow_null=True)
    names = serializers.DictField(
        child=serializers.CharField(), help_text="Names of the changed records at that time, by id."
    )
    entity = serializers.UUIDField(
        allow_null=True, help_text="The entity that was created, edited or kept, if any."
    )
    relationship = serializers.UUIDField(allow_null=True)
    before = serializers.DictField()
    after = serializers.DictField()
    conflicts = serializers.ListField(
        child=serializers.DictField(), help_text="Conflicting values and their sources."
    )
    effect = EffectSerializer()
    is_undone = serializers.BooleanField()
    can_undo = serializers.BooleanField()
    blocked_by = BlockerSerializer(
        allow_null=True, help_text="The later event that prevents an undo."
    )


def shown(view: queries.EventView) -> dict[str, Any]:
    details = view.event.details
    data: dict[str, Any] = {name: getattr(view, name) for name in view.__slots__}
    made = (details.get(name) for name in ("into", "kept", "entity"))
    return data | {
        "entity": next((one for one in made if one), None),
        "relationship": details.get("relationship"),
        "conflicts": details.get("conflicts", []),
        "token": details.get("token", ""),
        "effect": _effect(effects.of_event(view.event)),
    }


def _effect(effect: Effect) -> dict[str, Any]:
    return {"sentence": effect.sentence, "notes": list(effect.notes), **effect.figures}


def curated(
    view: WorkspaceAPIView, service: Service, *, seen: UUID | None = None, **subject: Any
) -> Response:
    """Carry out the service or, if the request wants it, its preview; with the body's fields."""
    change, wanted = change_of(view, seen=seen)
    if view.request.query_params.get("preview", "").lower() in ("1", "true", "yes"):
        effect = preview(service, workspace=view.workspace, **wanted, **subject)
        return Response(EffectSerializer(_effect(effect)).data)
    return event_answer(view, service(change=change, **wanted, **subject))


def event_answer(view: WorkspaceAPIView, event: HistoryEvent) -> Response:
    [row] = queries.event_views(workspace=view.workspace, rows=[event])
    return view.answer(shown(row), {"ETag": f'"{event.sequence}"'})


curation: Final = partial(
    correcting, gives=EventSerializer, previews=EffectSerializer, parameters=(PREVIEW,)
)
curation_of_one: Final = partial(curation, parameters=(PREVIEW, IF_MATCH))


class HistoryListApi(WorkspaceAPIView):
    """The history of a workspace."""

    class QuerySerializer(PageInput):
        subject = serializers.UUIDField(
            required=False, help_text="Id of an entity, relationship or document."
        )
        user = serializers.IntegerField(required=False)
        kind = serializers.ChoiceField(choices=queries.LISTED, required=False)
        before = serializers.IntegerField(
            required=False, min_value=1, help_text="A sequence number: only earlier events."
        )

    class OutputSerializer(PageOutput):
        results = EventSerializer(many=True)

    @reading("history_list", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """List changes, newest first; none for members who may not see all collections."""
        wanted = self.query()
        rows = queries.events(
            workspace=self.workspace,
            subject_id=wanted.get("subject"),
            user=wanted.get("user"),
            kind=wanted.get("kind", ""),
            before=wanted.get("before"),
        )
        page = page_of(rows, page=wanted["page"], page_size=wanted["page_size"])
        views = queries.event_views(workspace=self.workspace, rows=page.results)
        return page.of([shown(view) for view in views])


class HistoryApi(WorkspaceAPIView):
    """One event."""

    @reading("history_event", gives=EventSerializer)
    def get(self, event_id: UUID) -> object:
        """View a change, and whether it can be undone."""
        event = queries.event_get(workspace=self.workspace, event_id=event_id)
        [view] = queries.event_views(workspace=self.workspace, rows=[event])
        return shown(view)


class HistoryUndoApi(WorkspaceAPIView):
    """Undo an event."""

    @reading(
        "history_undo",
        at_source=True,
        takes=ReasonSerializer,
        gives=EventSerializer,
        previews=EffectSerializer,
        errors=(403, 409),
        is_once=True,
        parameters=(PREVIEW,),
    )
    def post(self, event_id: UUID) -> object:
        """Undo an event and its whole batch. If later changes prevent it, the error names them."""
        event = queries.event_get(workspace=self.workspace, event_id=event_id)
        # Editors undo changes to documents, curators changes to entities.
        needs = Capability.EDIT if queries.is_of_documents(event) else Capability.CURATE
        access.workspace_with(needs, user=self.request.user, workspace_id=self.workspace.pk)
        return curated(self, event_undo, event=event)


# --- decisions about names ------------------------------------------------------------------------
class DecisionSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="decision.pk")
    left = serializers.CharField(source="decision.left_key", help_text="A normalised name.")
    right = serializers.CharField(
        source="decision.right_key",
        allow_blank=True,
        help_text="Another normalised name; empty if the decision is about 'document'.",
    )
    document = serializers.UUIDField(source="decision.document_id", allow_null=True)
    sense = serializers.IntegerField(
        source="decision.sense",
        help_text="Which of the entities with this name the document means, from 0.",
    )
    verdict = serializers.ChoiceField(source="decision.verdict", choices=Verdict.choices)
    reason = serializers.CharField(source="decision.reason", allow_blank=True)
    by = serializers.ChoiceField(source="decision.by", choices=ResolutionDecision.By.choices)
    decider = serializers.CharField(help_text="The name of the person or model.")
    created_at = serializers.DateTimeField(source="decision.created_at")
    undone_at = serializers.DateTimeField(source="decision.undone_at", allow_null=True)
    is_conflicting = serializers.BooleanField(
        help_text="Ignored, because it would join names that were decided to differ."
    )
    is_waiting = serializers.BooleanField(
        help_text="On hold, because it would join names that have not been reviewed as pairs."
    )


class DecisionListApi(WorkspaceAPIView):
    """The decisions about names in a workspace."""

    class OutputSerializer(PageOutput):
        results = DecisionSerializer(many=True)

    class InputSerializer(serializers.Serializer[Any]):
        left = serializers.UUIDField(help_text="Id of an entity.")
        right = serializers.UUIDField(
            required=False, allow_null=True, default=None, help_text="Id of another entity."
        )
        document = serializers.UUIDField(
            required=False,
            allow_null=True,
            default=None,
            help_text="Instead of 'right': a document in which the entity's name means something"
            " else.",
        )
        verdict = serializers.ChoiceField(choices=Verdict.choices, default=Verdict.DIFFERENT)
        reason = serializers.CharField(
            required=False, allow_blank=True, default="", max_length=REASON_LENGTH
        )

        def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
            if bool(attrs["right"]) == bool(attrs["document"]):
                raise serializers.ValidationError({"right": ["Send either 'right' or 'document'."]})
            if attrs["document"] and attrs["verdict"] != Verdict.DIFFERENT:
                raise serializers.ValidationError(
                    {"verdict": ["For a document, the verdict must be 'different'."]}
                )
            return attrs

    @reading("decision_list", query=PageInput, gives=OutputSerializer)
    def get(self) -> object:
        """List decisions about names, newest first."""
        page = page_of(resolution_queries.decisions(workspace=self.workspace), **self.query())
        shown = resolution_queries.decision_views(workspace=self.workspace, rows=page.results)
        return page.of(shown)

    @curating("decision_record", takes=InputSerializer, gives=DecisionSerializer, status=201)
    def post(self) -> object:
        """Decide whether two entities are the same, or that a name differs in a document."""
        made = self._recorded(self.body())
        [view] = resolution_queries.decision_views(workspace=self.workspace, rows=[made])
        return view

    def _recorded(self, wanted: dict[str, Any]) -> ResolutionDecision:
        by = {
            "workspace": self.workspace,
            "user": self.request.user,
            "reason": wanted["reason"],
        }
        left = knowledge_queries.entity_get(workspace=self.workspace, entity_id=wanted["left"])
        if wanted["document"]:
            document = document_queries.document_get(
                workspace=self.workspace, document_id=wanted["document"]
            )
            return merging.sense_record(entity=left, document=document, **by)
        right = knowledge_queries.entity_get(workspace=self.workspace, entity_id=wanted["right"])
        verdict = Verdict(wanted["verdict"])
        return merging.decision_record(left=left, right=right, verdict=verdict, **by)


class DecisionUndoApi(WorkspaceAPIView):
    """Undo a decision."""

    @curating("decision_undo", gives=DecisionSerializer, errors=(409,))
    def post(self, decision_id: UUID) -> object:
        """Undo a decision. Names then resolve as if it had never been made."""
        decision = resolution_queries.decision_get(
            workspace=self.workspace, decision_id=decision_id
        )
        decision_undo(workspace=self.workspace, decision=decision, user=self.request.user)
        decision.refresh_from_db()
        [view] = resolution_queries.decision_views(workspace=self.workspace, rows=[decision])
        return view

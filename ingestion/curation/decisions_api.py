"""The REST operations on decisions about names: whether they mean one entity, and who decided."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers

from ingestion.curation import decisions
from ingestion.documents import queries as document_queries
from ingestion.knowledge import queries as knowledge_queries
from ingestion.models import Document, Entity, ResolutionDecision, Verdict
from ingestion.resolution import queries as resolution_queries
from kb_project.http.api import PageInput, PageOutput, page_of
from workspaces.api import WorkspaceAPIView, curating, reading


class DecisionSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="decision.pk")
    left = serializers.CharField(source="decision.left_key", help_text="A name, normalised.")
    right = serializers.CharField(
        source="decision.right_key",
        allow_blank=True,
        help_text="Another name; empty where a document's use of the left one was decided.",
    )
    document = serializers.UUIDField(source="decision.document_id", allow_null=True)
    sense = serializers.IntegerField(
        source="decision.sense", help_text="Which of the things of that name the document means."
    )
    verdict = serializers.ChoiceField(source="decision.verdict", choices=Verdict.choices)
    reason = serializers.CharField(source="decision.reason", allow_blank=True)
    by = serializers.ChoiceField(source="decision.by", choices=ResolutionDecision.By.choices)
    decider = serializers.CharField(help_text="The person or the model.")
    created_at = serializers.DateTimeField(source="decision.created_at")
    undone_at = serializers.DateTimeField(source="decision.undone_at", allow_null=True)
    is_conflicting = serializers.BooleanField(
        help_text="It would join names that are decided to differ, and is not followed."
    )
    is_waiting = serializers.BooleanField(
        help_text="On hold: it would join names that have not been reviewed as pairs."
    )


class DecisionListApi(WorkspaceAPIView):
    """The decisions about names in a workspace."""

    class OutputSerializer(PageOutput):
        results = DecisionSerializer(many=True)

    class InputSerializer(serializers.Serializer[Any]):
        left = serializers.UUIDField(help_text="An entity.")
        right = serializers.UUIDField(
            required=False, allow_null=True, default=None, help_text="Another entity."
        )
        document = serializers.UUIDField(
            required=False,
            allow_null=True,
            default=None,
            help_text="Instead of another entity: a document that means something else by the"
            " entity's name.",
        )
        verdict = serializers.ChoiceField(choices=Verdict.choices, default=Verdict.DIFFERENT)
        reason = serializers.CharField(
            required=False, allow_blank=True, default="", max_length=decisions.REASON_LENGTH
        )

        def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
            if bool(attrs["right"]) == bool(attrs["document"]):
                raise serializers.ValidationError(
                    {"right": ["Name either another entity or a document."]}
                )
            if attrs["document"] and attrs["verdict"] != Verdict.DIFFERENT:
                raise serializers.ValidationError(
                    {"verdict": ["Of a document only 'different' can be said."]}
                )
            return attrs

    @reading("decision_list", query=PageInput, gives=OutputSerializer)
    def get(self) -> object:
        """List the decisions about names with their reasons, newest first."""
        page = page_of(resolution_queries.decisions(workspace=self.workspace), **self.query())
        shown = resolution_queries.decision_views(workspace=self.workspace, rows=page.results)
        return page.of(shown)

    @curating("decision_record", takes=InputSerializer, gives=DecisionSerializer, status=201)
    def post(self) -> object:
        """Decide whether two entities are one, or that a document uses a name differently."""
        made = self._recorded(self.body())
        [view] = resolution_queries.decision_views(workspace=self.workspace, rows=[made])
        return view

    def _recorded(self, wanted: dict[str, Any]) -> ResolutionDecision:
        left: Entity = knowledge_queries.entity_get(
            workspace=self.workspace, entity_id=wanted["left"]
        )
        if wanted["document"]:
            document: Document = document_queries.document_get(
                workspace=self.workspace, document_id=wanted["document"]
            )
            return decisions.sense_record(
                workspace=self.workspace,
                user=self.request.user,
                entity=left,
                document=document,
                reason=wanted["reason"],
            )
        right = knowledge_queries.entity_get(workspace=self.workspace, entity_id=wanted["right"])
        return decisions.decision_record(
            workspace=self.workspace,
            user=self.request.user,
            left=left,
            right=right,
            verdict=Verdict(wanted["verdict"]),
            reason=wanted["reason"],
        )


class DecisionUndoApi(WorkspaceAPIView):
    """Undoing a decision."""

    @curating("decision_undo", gives=DecisionSerializer, errors=(409,))
    def post(self, decision_id: UUID) -> object:
        """Undo a decision: names are read as without it."""
        decision = resolution_queries.decision_get(
            workspace=self.workspace, decision_id=decision_id
        )
        decisions.decision_undo(workspace=self.workspace, decision=decision, user=self.request.user)
        decision.refresh_from_db()
        [view] = resolution_queries.decision_views(workspace=self.workspace, rows=[decision])
        return view

"""The REST operations on sources that disagree: list, view, decide, reopen."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.response import Response

from ingestion.curation import conflict_queries, conflicts as services
from ingestion.curation.conflict_queries import ConflictFilter
from ingestion.curation.history_api import EventSerializer, event_answer
from ingestion.history.api import IF_MATCH, ReasonSerializer, change_of, correcting, tags_of
from ingestion.knowledge.spans import OtherEntitySerializer, SourceSpanSerializer
from ingestion.models import ConflictKind, ConflictState, ConflictVerdict
from ingestion.models.conflicts import KEY_LENGTH
from kb_project.http.api import PageInput, PageOutput, page_of
from workspaces.api import WorkspaceAPIView, reading


class ConflictValueSerializer(serializers.Serializer[Any]):
    """A value that sources give, with their quotes."""

    key = serializers.CharField(help_text="Identifies the value, for 'holds'.")
    value = serializers.CharField(source="label", help_text="The value as written.")
    holds = serializers.BooleanField(help_text="Whether it was decided that this value holds.")
    sources = SourceSpanSerializer(many=True)


class DisputeSerializer(serializers.Serializer[Any]):
    """Sources that disagree about one thing."""

    id = serializers.UUIDField()
    subject = OtherEntitySerializer()
    kind = serializers.ChoiceField(choices=ConflictKind.choices, source="conflict.kind")
    topic = serializers.CharField(source="conflict.topic", help_text="What they disagree about.")
    state = serializers.ChoiceField(choices=ConflictState.choices, source="conflict.state")
    found_at = serializers.DateTimeField(source="conflict.found_at")
    values = ConflictValueSerializer(many=True)
    verdict = serializers.ChoiceField(
        choices=ConflictVerdict.choices,
        allow_blank=True,
        help_text="The decision; empty while the conflict is open.",
    )
    who = serializers.CharField(allow_blank=True)
    when = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    event = serializers.UUIDField(source="conflict.event_id", allow_null=True)


class ConflictListApi(WorkspaceAPIView):
    """Conflicts of a workspace."""

    class QuerySerializer(PageInput):
        state = serializers.ChoiceField(
            choices=[("", "All"), *ConflictState.choices],
            required=False,
            default="",
            allow_blank=True,
        )
        kind = serializers.ChoiceField(
            choices=[("", "All"), *ConflictKind.choices],
            required=False,
            default="",
            allow_blank=True,
        )
        document = serializers.UUIDField(
            required=False, default=None, help_text="Only conflicts with a side in this document."
        )
        q = serializers.CharField(
            required=False,
            default="",
            allow_blank=True,
            help_text="Text to find in the entity's name and in the topic.",
        )

    class OutputSerializer(PageOutput):
        results = DisputeSerializer(many=True)

    @reading("conflict_list", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """List sources that disagree, open conflicts first, then the latest."""
        given = self.query()
        wanted = ConflictFilter(given["state"], given["kind"], given["document"], given["q"])
        rows = conflict_queries.conflict_rows(self.workspace, wanted)
        page = page_of(rows, page=given["page"], page_size=given["page_size"])
        return page.of(conflict_queries.conflict_views(self.workspace, page.results))


class ConflictApi(WorkspaceAPIView):
    """One conflict."""

    @reading("conflict", gives=DisputeSerializer)
    def get(self, conflict_id: UUID) -> object:
        """View a conflict with the quotes of all sides, and what was decided."""
        row = conflict_queries.conflict_get(workspace=self.workspace, conflict_id=conflict_id)
        [view] = conflict_queries.conflict_views(self.workspace, [row])
        body: dict[str, Any] = dict(DisputeSerializer(view).data)
        return Response(body, headers=tags_of(self.workspace, conflict_id))


class ConflictDecideApi(WorkspaceAPIView):
    class InputSerializer(ReasonSerializer):
        """A decision about a conflict."""

        verdict = serializers.ChoiceField(choices=ConflictVerdict.choices)
        holds = serializers.CharField(
            required=False,
            default="",
            allow_blank=True,
            max_length=KEY_LENGTH,
            help_text="With the verdict 'holds': the 'key' of the value that holds.",
        )

    @correcting(
        "conflict_decide", takes=InputSerializer, gives=EventSerializer, parameters=(IF_MATCH,)
    )
    def post(self, conflict_id: UUID) -> object:
        """Decide which source is right, that all are, or to leave the conflict open."""
        change, wanted = change_of(self, seen=conflict_id)
        event = services.conflict_decide(change=change, conflict=conflict_id, **wanted)
        return event_answer(self, event)


class ConflictReopenApi(WorkspaceAPIView):
    @correcting(
        "conflict_reopen", takes=ReasonSerializer, gives=EventSerializer, parameters=(IF_MATCH,)
    )
    def post(self, conflict_id: UUID) -> object:
        """Undo the decision in force about a conflict."""
        change, _ = change_of(self, seen=conflict_id)
        return event_answer(self, services.conflict_reopen(change=change, conflict=conflict_id))

"""The REST operations on merge suggestions: the queue, and decisions on its cases."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final
from uuid import UUID

from rest_framework import serializers

from ingestion.curation.merging import entities_differ
from ingestion.history.api import ExpectedField, ReasonSerializer, change_of, correcting
from ingestion.models import HistoryEvent
from ingestion.suggestions import cases, services
from ingestion.suggestions.filtering import REASONS, CaseFilter
from workspaces.api import WorkspaceAPIView, curating, reading

MOST_ENTITIES = 50


class QuoteSerializer(serializers.Serializer[Any]):
    """A quote that names the entity: ``before``, ``name`` and ``after``, in this order."""

    document = serializers.UUIDField(source="document_id")
    title = serializers.CharField(source="document")
    chunk = serializers.UUIDField(source="chunk_id")
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    before = serializers.CharField()
    name = serializers.CharField()
    after = serializers.CharField()
    place = serializers.CharField(help_text="Page and heading; empty if there are none.")


class SideSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    type = serializers.CharField()
    description = serializers.CharField()
    aliases = serializers.ListField(child=serializers.CharField())
    mentions = serializers.IntegerField()
    facts = serializers.IntegerField()
    documents = serializers.IntegerField()
    revision = serializers.IntegerField(help_text="For a decision's 'expected'.")
    is_protected = serializers.BooleanField()
    is_confirmed = serializers.BooleanField()
    quotes = QuoteSerializer(many=True)


class CasePairSerializer(serializers.Serializer[Any]):
    left = serializers.UUIDField()
    right = serializers.UUIDField()
    certainty = serializers.FloatField()
    reasons = serializers.ListField(child=serializers.CharField())


class CaseSerializer(serializers.Serializer[Any]):
    """Two to five entities that may be the same."""

    key = serializers.UUIDField()
    certainty = serializers.FloatField(help_text="Certainty of the least certain pair, 0 to 1.")
    effect = serializers.FloatField(
        help_text="Grows with the number of mentions and facts that a merge would move."
    )
    sentence = serializers.CharField(help_text="Why they may be the same.")
    kept = serializers.UUIDField(help_text="The entity that a merge should keep.")
    is_skipped = serializers.BooleanField()
    entities = SideSerializer(many=True)
    pairs = CasePairSerializer(many=True)


class RefusedSerializer(serializers.Serializer[Any]):
    """A pair that was suggested again after it was marked as not the same."""

    left = SideSerializer()
    right = SideSerializer()
    certainty = serializers.FloatField(source="suggested.certainty")
    reasons = serializers.ListField(child=serializers.CharField(), source="suggested.reasons")
    sentence = serializers.CharField(help_text="Who marked the pair, and when.")
    decision = serializers.UUIDField(
        source="decision.pk",
        allow_null=True,
        help_text="Null if the two were separated by a split or by moving mentions.",
    )
    event = serializers.UUIDField(source="decision.event_id", allow_null=True)


class CountsSerializer(serializers.Serializer[Any]):
    open = serializers.IntegerField()
    skipped = serializers.IntegerField()
    decided_today = serializers.IntegerField()


class SuggestionDecisionSerializer(serializers.Serializer[Any]):
    """The events of a decision; undoing any event of a batch undoes all of it."""

    events = serializers.ListField(child=serializers.UUIDField())
    batch = serializers.UUIDField(allow_null=True)


deciding_cases: Final = partial(correcting, gives=SuggestionDecisionSerializer)


class SuggestionListApi(WorkspaceAPIView):
    class InputSerializer(serializers.Serializer[Any]):
        after = serializers.CharField(
            required=False,
            default="",
            allow_blank=True,
            max_length=120,
            help_text="'next' from the previous page.",
        )
        limit = serializers.IntegerField(
            min_value=1, max_value=cases.LARGEST_PAGE, default=cases.PAGE
        )
        certainty = serializers.FloatField(
            min_value=0, max_value=1, default=0, help_text="Only cases at least this certain."
        )
        type = serializers.CharField(
            required=False, default="", allow_blank=True, help_text="Type of one of the entities."
        )
        document = serializers.UUIDField(
            required=False, default=None, help_text="A document that mentions one of them."
        )
        kind = serializers.CharField(
            required=False,
            default="",
            allow_blank=True,
            help_text=f"Kind of one of the reasons shown: {', '.join(REASONS)}.",
        )

    class OutputSerializer(serializers.Serializer[Any]):
        cases = CaseSerializer(many=True)
        next = serializers.CharField(help_text="'after' for the next page; empty on the last.")
        counts = CountsSerializer()

    @reading("suggestion_list", query=InputSerializer, gives=OutputSerializer)
    def get(self) -> object:
        """List cases of entities that may be the same, ordered by certainty times effect."""
        given = self.query()
        names = ("certainty", "type", "document", "kind")
        wanted = CaseFilter(**{name: given[name] for name in names})
        return cases.case_queue(
            workspace=self.workspace,
            user=self.request.user,
            limit=given["limit"],
            after=given["after"],
            wanted=wanted,
        )


class SuggestionRefusedApi(WorkspaceAPIView):
    class OutputSerializer(serializers.Serializer[Any]):
        results = RefusedSerializer(many=True)

    @reading("suggestion_refused", gives=OutputSerializer, errors=(400,))
    def get(self) -> object:
        """List pairs that were suggested again after they were marked as not the same."""
        found = cases.case_refused(workspace=self.workspace)
        return {"results": found}


class DecidingInput(ReasonSerializer):
    """A decision on a case."""

    entities = serializers.ListField(
        child=serializers.UUIDField(), min_length=2, max_length=MOST_ENTITIES
    )
    expected = ExpectedField()


class SuggestionAcceptApi(WorkspaceAPIView):
    class InputSerializer(DecidingInput):
        kept = serializers.UUIDField(help_text="The entity to merge the others into.")
        dropped = serializers.ListField(
            child=serializers.UUIDField(),
            required=False,
            default=list,
            max_length=MOST_ENTITIES,
            help_text="Entities to leave out of the merge; nothing is decided about them.",
        )

    @deciding_cases("suggestion_accept", takes=InputSerializer)
    def post(self) -> object:
        """Merge the entities of a case into one of them."""
        change, wanted = change_of(self)
        return _done([services.case_accept(change=change, **wanted)])


class SuggestionRejectApi(WorkspaceAPIView):
    class InputSerializer(DecidingInput):
        pass

    @deciding_cases("suggestion_reject", takes=InputSerializer)
    def post(self) -> object:
        """Record that no two of these entities are the same, so that they are never merged
        automatically.
        """
        change, wanted = change_of(self)
        return _done([entities_differ(change=change, **wanted)])


class SuggestionSkipApi(WorkspaceAPIView):
    class InputSerializer(serializers.Serializer[Any]):
        case = serializers.UUIDField(help_text="The case's key.")

    @curating("suggestion_skip", takes=InputSerializer, status=204)
    def post(self) -> None:
        """Skip a case. It moves to the end of your queue."""
        case = cases.case_get(workspace=self.workspace, key=self.body()["case"])
        services.case_skip(workspace=self.workspace, user=self.request.user, case=case.key)


class EffectSerializer(serializers.Serializer[Any]):
    mentions = serializers.IntegerField()
    facts = serializers.IntegerField()
    duplicates = serializers.IntegerField()
    self_loops = serializers.IntegerField()
    conflicts = serializers.IntegerField()
    reports = serializers.IntegerField()
    notes = serializers.ListField(child=serializers.CharField())


class ThresholdInput(serializers.Serializer[Any]):
    threshold = serializers.FloatField(min_value=services.LOWEST, max_value=1)


class SuggestionAcceptAboveApi(WorkspaceAPIView):
    class InputSerializer(ThresholdInput, ReasonSerializer):
        digest = serializers.CharField(
            required=False,
            allow_blank=True,
            default="",
            max_length=16,
            help_text="From the preview. If the cases have changed since, nothing is merged.",
        )

    class PreviewSerializer(serializers.Serializer[Any]):
        cases = serializers.IntegerField()
        entities = serializers.IntegerField()
        left = serializers.IntegerField(help_text="Cases left for a later batch.")
        effect = EffectSerializer()
        sentence = serializers.CharField()
        digest = serializers.CharField()

    @reading("suggestion_accept_above_preview", query=ThresholdInput, gives=PreviewSerializer)
    def get(self) -> object:
        """Preview accepting every case with at least this certainty."""
        return services.accept_above_preview(workspace=self.workspace, **self.query())

    @deciding_cases("suggestion_accept_above", takes=InputSerializer, errors=(400, 409, 412))
    def post(self) -> object:
        """Accept every case with at least this certainty. One undo reverts all of them."""
        change, wanted = change_of(self)
        events = services.cases_accept_above(change=change, **wanted)
        return _done(events, batch=events[0].batch)


def _done(events: Iterable[HistoryEvent], *, batch: UUID | None = None) -> dict[str, Any]:
    return {"events": [event.pk for event in events], "batch": batch}

"""The REST operations on merge suggestions: the queue, and decisions on its cases."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion.curation.api import curating
from ingestion.history.api_changes import CHANGING, ReasonSerializer, body_of, change_of
from ingestion.history.preconditions import ExpectedField
from ingestion.suggestions import deciding, queue, skipping
from kb_project.http.api import ASKING, WRITING, ProblemSerializer
from workspaces import access
from workspaces.idempotency import IDEMPOTENCY_KEY, once
from workspaces.requests import ApiRequest

MOST_ENTITIES = 50


class QuoteSerializer(serializers.Serializer[Any]):
    """A quote, made up of ``before``, ``name`` and ``after``."""

    document = serializers.UUIDField(source="document_id")
    title = serializers.CharField(source="document")
    chunk = serializers.UUIDField(source="chunk_id")
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    before = serializers.CharField()
    name = serializers.CharField()
    after = serializers.CharField()
    place = serializers.CharField(help_text="Page and heading; empty where there are none.")


class SideSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    type = serializers.CharField()
    description = serializers.CharField()
    aliases = serializers.ListField(child=serializers.CharField())
    mentions = serializers.IntegerField()
    facts = serializers.IntegerField()
    documents = serializers.IntegerField()
    revision = serializers.IntegerField(help_text="For 'expected' of a decision.")
    is_protected = serializers.BooleanField()
    is_confirmed = serializers.BooleanField()
    quotes = QuoteSerializer(many=True)


class CasePairSerializer(serializers.Serializer[Any]):
    left = serializers.UUIDField()
    right = serializers.UUIDField()
    certainty = serializers.FloatField()
    reasons = serializers.ListField(child=serializers.CharField())


class CaseSerializer(serializers.Serializer[Any]):
    """Two to five entities that may be one."""

    key = serializers.UUIDField()
    certainty = serializers.FloatField(help_text="Of the least certain pair, 0 to 1.")
    effect = serializers.FloatField(help_text="Grows with what would move.")
    sentence = serializers.CharField(help_text="Why they may be one.")
    kept = serializers.UUIDField(help_text="The one a merge should keep.")
    is_skipped = serializers.BooleanField()
    entities = SideSerializer(many=True)
    pairs = CasePairSerializer(many=True)


class RefusedSerializer(serializers.Serializer[Any]):
    """A pair that was suggested again after it was decided that the two differ."""

    left = SideSerializer()
    right = SideSerializer()
    certainty = serializers.FloatField()
    reasons = serializers.ListField(child=serializers.CharField())
    sentence = serializers.CharField(help_text="Who said so, and when.")
    decision = serializers.UUIDField(
        source="decision_id",
        allow_null=True,
        help_text="Null where a split or a move told them apart.",
    )
    event = serializers.UUIDField(source="event_id", allow_null=True)


class CountsSerializer(serializers.Serializer[Any]):
    open = serializers.IntegerField()
    skipped = serializers.IntegerField()
    decided_today = serializers.IntegerField()


class SuggestionDecisionSerializer(serializers.Serializer[Any]):
    """The events of a decision; undoing any event of a batch undoes all of it."""

    events = serializers.ListField(child=serializers.UUIDField())
    batch = serializers.UUIDField(allow_null=True)


class SuggestionListApi(APIView):
    class InputSerializer(serializers.Serializer[Any]):
        after = serializers.CharField(
            required=False,
            default="",
            allow_blank=True,
            max_length=120,
            help_text="'next' of the page before.",
        )
        limit = serializers.IntegerField(
            min_value=1, max_value=queue.LARGEST_PAGE, default=queue.PAGE
        )

    class OutputSerializer(serializers.Serializer[Any]):
        cases = CaseSerializer(many=True)
        next = serializers.CharField(help_text="'after' of the next page; empty at the end.")
        counts = CountsSerializer()

    @extend_schema(
        operation_id="suggestion_list",
        parameters=[InputSerializer],
        responses={200: OutputSerializer, **ASKING},
    )
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """List cases of entities that may be one, ordered by certainty times effect."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        query = self.InputSerializer(data=request.query_params)
        query.is_valid(raise_exception=True)
        found = queue.case_queue(workspace=workspace, user=request.user, **query.validated_data)
        return Response(self.OutputSerializer(found).data)


class SuggestionRefusedApi(APIView):
    class OutputSerializer(serializers.Serializer[Any]):
        results = RefusedSerializer(many=True)

    @extend_schema(operation_id="suggestion_refused", responses={200: OutputSerializer, **ASKING})
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """List pairs that were suggested again after it was decided that they are not the same."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        found = queue.case_refused(workspace=workspace)
        return Response(self.OutputSerializer({"results": found}).data)


class DecidingInput(ReasonSerializer):
    """The input shared by all decisions on a case."""

    entities = serializers.ListField(
        child=serializers.UUIDField(), min_length=2, max_length=MOST_ENTITIES
    )
    expected = ExpectedField()


class SuggestionAcceptApi(APIView):
    class InputSerializer(DecidingInput):
        kept = serializers.UUIDField(help_text="The entity that the others become.")
        dropped = serializers.ListField(
            child=serializers.UUIDField(),
            required=False,
            default=list,
            max_length=MOST_ENTITIES,
            help_text="Of these nothing is said.",
        )

    @extend_schema(
        operation_id="suggestion_accept",
        request=InputSerializer,
        parameters=[IDEMPOTENCY_KEY],
        responses={200: SuggestionDecisionSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Merge the entities of a case into one of them."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request)
        change = change_of(request, workspace, wanted)
        return _done(deciding.case_accept(change=change, **wanted).pk)


class SuggestionRejectApi(APIView):
    class InputSerializer(DecidingInput):
        pass

    @extend_schema(
        operation_id="suggestion_reject",
        request=InputSerializer,
        parameters=[IDEMPOTENCY_KEY],
        responses={200: SuggestionDecisionSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Record that no two of the entities are the same; later runs obey it."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request)
        change = change_of(request, workspace, wanted)
        return _done(deciding.case_reject(change=change, **wanted).pk)


class SuggestionSkipApi(APIView):
    class InputSerializer(serializers.Serializer[Any]):
        case = serializers.UUIDField(help_text="Its key.")

    @extend_schema(
        operation_id="suggestion_skip",
        request=InputSerializer,
        responses={204: None, 400: ProblemSerializer, **WRITING},
    )
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Put a case off: it comes back to the same user after the others."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request)
        case = queue.case_get(workspace=workspace, key=wanted["case"])
        skipping.case_skip(workspace=workspace, user=request.user, case=case.key)
        return Response(status=204)


class EffectSerializer(serializers.Serializer[Any]):
    mentions = serializers.IntegerField()
    facts = serializers.IntegerField()
    duplicates = serializers.IntegerField()
    self_loops = serializers.IntegerField()
    conflicts = serializers.IntegerField()
    reports = serializers.IntegerField()
    notes = serializers.ListField(child=serializers.CharField())


class ThresholdInput(serializers.Serializer[Any]):
    threshold = serializers.FloatField(min_value=deciding.LOWEST, max_value=1)


class SuggestionAcceptAboveApi(APIView):
    class InputSerializer(ThresholdInput, ReasonSerializer):
        digest = serializers.CharField(
            required=False,
            allow_blank=True,
            default="",
            max_length=16,
            help_text="Of the preview: nothing is done where other cases would be merged.",
        )

    class PreviewSerializer(serializers.Serializer[Any]):
        cases = serializers.IntegerField()
        entities = serializers.IntegerField()
        left = serializers.IntegerField(help_text="Cases left out of this batch.")
        effect = EffectSerializer()
        sentence = serializers.CharField()
        digest = serializers.CharField()

    @extend_schema(
        operation_id="suggestion_accept_above_preview",
        parameters=[ThresholdInput],
        responses={200: PreviewSerializer, **ASKING},
    )
    def get(self, request: ApiRequest, workspace_id: str) -> Response:
        """Preview accepting every case of at least this certainty."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        query = ThresholdInput(data=request.query_params)
        query.is_valid(raise_exception=True)
        found = deciding.accept_above_preview(workspace=workspace, **query.validated_data)
        return Response(self.PreviewSerializer(found).data)

    @extend_schema(
        operation_id="suggestion_accept_above",
        request=InputSerializer,
        parameters=[IDEMPOTENCY_KEY],
        responses={200: SuggestionDecisionSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        """Accept every case of at least this certainty; one undo reverts all of them."""
        workspace = curating(request, workspace_id)
        wanted = body_of(self.InputSerializer, request)
        change = change_of(request, workspace, wanted)
        done = deciding.cases_accept_above(change=change, **wanted)
        return _done(*(event.pk for event in done.events), batch=done.batch)


def _done(*events: Any, batch: Any = None) -> Response:
    return Response(SuggestionDecisionSerializer({"events": events, "batch": batch}).data)

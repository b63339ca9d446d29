"""The REST operations on a workspace's health, for monitoring."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from ingestion.health import services
from ingestion.health.queries import health
from ingestion.models import CheckState
from workspaces.api import WorkspaceAPIView, administering


class DriftSerializer(serializers.Serializer[Any]):
    check = serializers.CharField()
    sentence = serializers.CharField()
    count = serializers.IntegerField()
    samples = serializers.ListField(child=serializers.CharField(), help_text="Some examples.")
    next_step = serializers.CharField(allow_blank=True)
    is_repairable = serializers.BooleanField(help_text="Whether it can be repaired automatically.")


class WaitingSerializer(serializers.Serializer[Any]):
    check = serializers.CharField()
    sentence = serializers.CharField()
    count = serializers.IntegerField()


class ConsistencyCheckSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="pk")
    state = serializers.ChoiceField(choices=CheckState.choices)
    done = serializers.IntegerField(help_text="Steps completed.")
    total = serializers.IntegerField()
    repairs = serializers.BooleanField()
    is_deep = serializers.BooleanField()
    drifts = DriftSerializer(many=True)
    waiting = WaitingSerializer(
        many=True, help_text="Work in progress, and what it is going to repair."
    )
    repaired = serializers.ListField(child=serializers.CharField())
    seconds = serializers.FloatField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class WorkSerializer(serializers.Serializer[Any]):
    unfinished = serializers.IntegerField()
    paused = serializers.IntegerField()
    oldest = serializers.DateTimeField(
        allow_null=True, help_text="When the oldest waiting job was created."
    )
    held = serializers.IntegerField(help_text="Stages running now.")
    is_unattended = serializers.BooleanField(
        help_text="Work is waiting, but no worker seems to be running."
    )


class SizeSerializer(serializers.Serializer[Any]):
    rows = serializers.IntegerField(help_text="Bytes, estimated: workspaces share tables.")
    graph = serializers.IntegerField(help_text="Bytes of the graph projection.")
    files = serializers.IntegerField(help_text="Bytes of the documents' files.")


class RecallSerializer(serializers.Serializer[Any]):
    recall = serializers.FloatField(
        help_text="The share of the ten nearest passages that a search by meaning finds."
    )
    probes = serializers.IntegerField(help_text="Groups of vectors that a search reads.")
    measured_at = serializers.DateTimeField()


class HealthApi(WorkspaceAPIView):
    """The health of a workspace."""

    class OutputSerializer(serializers.Serializer[Any]):
        is_sound = serializers.BooleanField(
            allow_null=True,
            help_text="Whether the last check found no drift; null before the first.",
        )
        check = ConsistencyCheckSerializer(allow_null=True, help_text="The last finished check.")
        under_way = ConsistencyCheckSerializer(
            allow_null=True, help_text="A check that is waiting or running."
        )
        work = WorkSerializer()
        refresh_state = serializers.CharField(allow_blank=True)
        refreshed_at = serializers.DateTimeField(allow_null=True)
        projection = serializers.ChoiceField(choices=["age", "tables"])
        snapshot_at = serializers.DateTimeField(allow_null=True)
        nearest = RecallSerializer(
            allow_null=True,
            help_text="Null if searches compare the question with all vectors: up to some 10,000.",
        )
        size = SizeSerializer()

    class InputSerializer(serializers.Serializer[Any]):
        repair = serializers.BooleanField(default=False, help_text="Repair what can be repaired.")
        deep = serializers.BooleanField(
            default=True, help_text="Also compare every document with its extractions."
        )

    @administering("health", gives=OutputSerializer)
    def get(self) -> object:
        """Return the result of the last check, the pending work, and the storage used."""
        return health(workspace=self.workspace)

    @administering(
        "health_check", takes=InputSerializer, gives=ConsistencyCheckSerializer, status=202
    )
    def post(self) -> object:
        """Request a check of the workspace, optionally with repairs. Returns the unfinished check
        if there is one.
        """
        wanted = self.body()
        return services.check_request(
            workspace=self.workspace,
            user=self.request.user,
            repairs=wanted["repair"],
            is_deep=wanted["deep"],
        )

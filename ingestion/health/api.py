"""The REST operations on a workspace's health, for monitoring."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from ingestion.health import services
from ingestion.health.queries import health
from ingestion.models import CheckState
from workspaces.api import WorkspaceAPIView, administering


class DriftSerializer(serializers.Serializer[Any]):
    check = serializers.CharField(help_text="The name of the check that found it.")
    sentence = serializers.CharField()
    count = serializers.IntegerField()
    samples = serializers.ListField(child=serializers.CharField(), help_text="Some of its ids.")
    next_step = serializers.CharField(allow_blank=True)
    is_repairable = serializers.BooleanField(help_text="Whether a repair mends it.")


class WaitingSerializer(serializers.Serializer[Any]):
    check = serializers.CharField()
    sentence = serializers.CharField()
    count = serializers.IntegerField()


class ConsistencyCheckSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="pk")
    state = serializers.ChoiceField(choices=CheckState.choices)
    done = serializers.IntegerField(help_text="Steps that are through.")
    total = serializers.IntegerField()
    repairs = serializers.BooleanField()
    is_deep = serializers.BooleanField()
    drifts = DriftSerializer(many=True)
    waiting = WaitingSerializer(many=True, help_text="What work under way will mend.")
    repaired = serializers.ListField(child=serializers.CharField())
    seconds = serializers.FloatField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class WorkSerializer(serializers.Serializer[Any]):
    unfinished = serializers.IntegerField()
    paused = serializers.IntegerField()
    oldest = serializers.DateTimeField(
        allow_null=True, help_text="Since when the oldest piece of work has waited to begin."
    )
    held = serializers.IntegerField(help_text="Stages that a worker is at now.")
    is_unattended = serializers.BooleanField(help_text="Work waits and no worker seems to run.")


class SizeSerializer(serializers.Serializer[Any]):
    rows = serializers.IntegerField(help_text="Bytes, about: tables are shared.")
    graph = serializers.IntegerField(help_text="Bytes of the graph projection.")
    files = serializers.IntegerField(help_text="Bytes of the documents' files.")


class HealthApi(WorkspaceAPIView):
    """The health of a workspace."""

    class OutputSerializer(serializers.Serializer[Any]):
        is_sound = serializers.BooleanField(
            allow_null=True, help_text="What the last check found; null before the first."
        )
        check = ConsistencyCheckSerializer(allow_null=True, help_text="The last check that ended.")
        under_way = ConsistencyCheckSerializer(
            allow_null=True, help_text="A check that waits or runs."
        )
        work = WorkSerializer()
        refresh_state = serializers.CharField(allow_blank=True)
        refreshed_at = serializers.DateTimeField(allow_null=True)
        projection = serializers.ChoiceField(choices=["age", "tables"])
        snapshot_at = serializers.DateTimeField(allow_null=True)
        size = SizeSerializer()

    class InputSerializer(serializers.Serializer[Any]):
        repair = serializers.BooleanField(default=False, help_text="Mend what can be mended.")
        deep = serializers.BooleanField(
            default=True, help_text="Also read every document once more from what was extracted."
        )

    @administering("health", gives=OutputSerializer)
    def get(self) -> object:
        """Return the result of the last check, the pending work, and the storage used."""
        return health(workspace=self.workspace)

    @administering(
        "health_check", takes=InputSerializer, gives=ConsistencyCheckSerializer, status=202
    )
    def post(self) -> object:
        """Request a check of the workspace, with repairs if wanted. Only one check runs
        at a time.
        """
        wanted = self.body()
        return services.check_request(
            workspace=self.workspace,
            user=self.request.user,
            repairs=wanted["repair"],
            is_deep=wanted["deep"],
        )

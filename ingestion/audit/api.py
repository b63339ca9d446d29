"""The REST operation on the audit."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from ingestion.audit import queries
from ingestion.audit.queries import ACTIONS, VIA, AuditFilter
from kb_project.http.api import PageInput, PageOutput
from workspaces.api import WorkspaceAPIView, administering


class AuditEntrySerializer(serializers.Serializer[Any]):
    """An action of a person, a token, a command or a job."""

    id = serializers.UUIDField()
    when = serializers.DateTimeField()
    who = serializers.CharField()
    token = serializers.CharField(help_text="The API token that was used, '' for none.")
    via = serializers.CharField()
    action = serializers.CharField()
    sentence = serializers.CharField()
    object_kind = serializers.CharField(help_text="What it was done to, '' for the workspace.")
    object_id = serializers.CharField()
    object_name = serializers.CharField(help_text="Its name at the time.")
    reason = serializers.CharField()
    before = serializers.DictField()
    after = serializers.DictField()
    is_undone = serializers.BooleanField()
    request_id = serializers.CharField()


class AuditListApi(WorkspaceAPIView):
    """Who did what in a workspace."""

    class QuerySerializer(PageInput):
        person = serializers.IntegerField(required=False, help_text="The id of a user.")
        action = serializers.ChoiceField(
            choices=[value for value, _ in ACTIONS], required=False, default=""
        )
        kind = serializers.CharField(
            required=False,
            default="",
            max_length=40,
            help_text="What it was done to, such as 'document' or 'member'.",
        )
        via = serializers.ChoiceField(choices=list(VIA), required=False, default="")
        since = serializers.DateTimeField(required=False)
        until = serializers.DateTimeField(
            required=False, help_text="Only what was done before this moment."
        )

    class OutputSerializer(PageOutput):
        results = AuditEntrySerializer(many=True)

    @administering("audit_list", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """List what was done, newest first: settings, members, exports, documents, entities."""
        query = self.query()
        page, size = query.pop("page"), query.pop("page_size")
        found = queries.places(workspace=self.workspace, wanted=AuditFilter(**query))
        first, total = (page - 1) * size, found.count()
        shown = queries.entries(workspace=self.workspace, at=list(found[first : first + size]))
        return {
            "total": total,
            "page": page,
            "page_size": size,
            "pages": -(-total // size),
            "results": shown,
        }

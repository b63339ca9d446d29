"""The REST operations on a workspace's settings, its exports and its deletion."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers

from kb_project.text.languages import LANGUAGES
from workspaces.administration import services
from workspaces.api import WorkspaceAPIView, administering, owning, reading
from workspaces.models import ExportState
from workspaces.people import services as people_services
from workspaces.people.api import WorkspaceSerializer, check_no_token

STATES: Final = [state.value for state in ExportState]


class WorkspaceApi(WorkspaceAPIView):
    """One workspace."""

    class InputSerializer(serializers.Serializer[Any]):
        """Omitted fields stay unchanged."""

        name = serializers.CharField(required=False, max_length=people_services.NAME_LENGTH)
        slug = serializers.SlugField(
            required=False,
            max_length=people_services.SLUG_LENGTH,
            help_text="Not one that is taken (409). The last five former ones keep working.",
        )
        document_language = serializers.ChoiceField(
            required=False,
            choices=list(LANGUAGES),
            help_text="Of documents whose language cannot be detected.",
        )
        editors_invite = serializers.BooleanField(
            required=False, help_text="Editors and curators may invite, up to their own role."
        )
        editors_delete = serializers.BooleanField(
            required=False, help_text="Editors and curators may delete documents for good."
        )
        viewers_export = serializers.BooleanField(
            required=False,
            help_text="Viewers may download evaluations, question sets and the graph.",
        )

    class DeletionSerializer(serializers.Serializer[Any]):
        name = serializers.CharField(help_text="The workspace's name, as confirmation.")

    class OutputSerializer(WorkspaceSerializer):
        document_language = serializers.CharField()
        editors_invite = serializers.BooleanField()
        editors_delete = serializers.BooleanField()
        viewers_export = serializers.BooleanField()

    @reading("workspace", at_source=True, gives=OutputSerializer)
    def get(self) -> object:
        """View a workspace."""
        return self.workspace

    @administering("workspace_edit", takes=InputSerializer, gives=OutputSerializer, errors=(409,))
    def patch(self) -> object:
        """Change a workspace's settings."""
        return services.settings_update(
            workspace=self.workspace, user=self.request.user, **self.body()
        )

    @owning("workspace_delete", takes=DeletionSerializer, gives=OutputSerializer)
    def delete(self) -> object:
        """Delete a workspace. It is closed at once, and can be restored until ``purge_at``."""
        return services.workspace_delete(
            workspace=self.workspace, user=self.request.user, name=self.body()["name"]
        )


class WorkspaceRestoreApi(WorkspaceAPIView):
    """A deleted workspace."""

    @owning("workspace_restore", gives=WorkspaceSerializer, of_deleted=True)
    def post(self) -> object:
        """Restore a workspace that you own and that was deleted."""
        check_no_token(self.request)
        return services.workspace_restore(workspace=self.workspace, user=self.request.user)


class ExportSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=STATES)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    size = serializers.IntegerField(help_text="Bytes.")
    problem = serializers.DictField(allow_null=True, help_text="Why it failed.")


class ExportListApi(WorkspaceAPIView):
    """Exports of a whole workspace: documents, graph, questions, decisions, history."""

    class OutputSerializer(serializers.Serializer[Any]):
        total = serializers.IntegerField()
        results = ExportSerializer(many=True)

    @administering("export_list", gives=OutputSerializer)
    def get(self) -> object:
        """List the latest exports, newest first."""
        found = services.exports_of(workspace=self.workspace)
        return {"total": len(found), "results": found}

    @administering("export_create", gives=ExportSerializer, status=202, errors=(409,))
    def post(self) -> object:
        """Have an export made in the background: a file that ``manage.py restore`` reads."""
        return services.export_request(workspace=self.workspace, user=self.request.user)


class ExportApi(WorkspaceAPIView):
    """One export."""

    @administering("export", gives=ExportSerializer)
    def get(self, export_id: UUID) -> object:
        """View an export's state."""
        return services.export_of(workspace=self.workspace, export_id=export_id)


class ExportFileApi(WorkspaceAPIView):
    """The file of an export."""

    @administering(
        "export_download",
        gives={(200, "application/zip"): OpenApiResponse(OpenApiTypes.BINARY, "The file.")},
        errors=(409,),
    )
    def get(self, export_id: UUID) -> object:
        """Download an export. Files are kept for seven days."""
        return services.export_download(
            workspace=self.workspace, user=self.request.user, export_id=export_id
        )

"""What the model learns from a sample of the documents: operations on it, and a button to stop."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from rest_framework import serializers

from ingestion.models import RunState
from ingestion.pipeline import workspace_jobs
from workspaces.api import WorkspaceAPIView, administering, reading
from workspaces.language_models import queries, services
from workspaces.language_models.services import TUNABLE, config_needed
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, refusals_shown, workspace_page

setting: Final = partial(administering, errors=(409,))


def _text(name: str, help_text: str) -> serializers.CharField:
    return serializers.CharField(
        max_length=TUNABLE[name], required=False, allow_blank=True, help_text=help_text
    )


class TuningApi(WorkspaceAPIView):
    """What the model learned, and how far it is with learning."""

    class InputSerializer(serializers.Serializer[Any]):
        """Omitted fields stay unchanged."""

        domain = _text("domain", "What the documents are about.")
        language = _text("language", "In which entities are named and described.")
        persona = _text("persona", "The expert who writes descriptions and reports.")
        report_rating = _text("report_rating", "By which reports rate their topics, 0 to 10.")
        report_language = _text("report_language", "Of reports; '' for that of the documents.")

    class OutputSerializer(serializers.Serializer[Any]):
        domain = serializers.CharField(default="")
        language = serializers.CharField(default="")
        persona = serializers.CharField(default="")
        report_rating = serializers.CharField(default="")
        report_language = serializers.CharField(default="")
        types = serializers.ListField(
            child=serializers.CharField(),
            default=list,
            help_text="Learned; those in force are `entity_types` of `models/`.",
        )
        examples = serializers.ListField(
            child=serializers.CharField(trim_whitespace=False), default=list
        )
        problem = serializers.DictField(default=None, allow_null=True)
        state = serializers.ChoiceField(
            choices=RunState.choices,
            default=None,
            allow_null=True,
            help_text="Of the latest work; null if it was never asked for.",
        )
        done = serializers.IntegerField(default=0, help_text="Steps of it that are done.")
        total = serializers.IntegerField(default=0)

    @reading("tuning", gives=OutputSerializer)
    def get(self) -> object:
        """View what the model learned from a sample of the documents."""
        return _state(self.workspace)

    @setting("tuning_start", gives=OutputSerializer, status=202)
    def post(self) -> object:
        """Have the model learn from a sample of the documents; some seven calls."""
        config_needed(self.workspace)
        workspace_jobs.tuning_begin(workspace_id=self.workspace.pk)
        return _state(self.workspace)

    @setting("tuning_set", takes=InputSerializer, gives=OutputSerializer)
    def put(self) -> object:
        """Edit what was learned. Prompts use it from then on."""
        services.tuning_set(workspace=self.workspace, changes=self.body())
        return _state(self.workspace)

    @setting("tuning_forget", status=204)
    def delete(self) -> object:
        """Forget what was learned."""
        services.tuning_forget(workspace=self.workspace)
        return None


class TuningCancelApi(WorkspaceAPIView):
    """Stop learning."""

    @setting("tuning_cancel", gives=TuningApi.OutputSerializer, status=202)
    def post(self) -> object:
        """Stop learning after its next answer. What was learned before stays."""
        workspace_jobs.tuning_cancel(workspace_id=self.workspace.pk)
        return _state(self.workspace)


def _state(workspace: Workspace) -> dict[str, Any]:
    learned = queries.model_state(workspace=workspace).tuning
    work = workspace_jobs.tuning_work(workspace.pk)
    going = {"state": work.state, "done": work.done, "total": work.total} if work else {}
    return {**learned, **going}


@workspace_page(Capability.ADMINISTER, "POST")
def tuning_cancel(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Stop learning from the page Models, which shows how far it is."""
    with refusals_shown(request):
        workspace_jobs.tuning_cancel(workspace_id=workspace.pk)
        messages.success(request, "Learning stops after the model's next answer.")
    return redirect("workspaces:model_settings", workspace.slug)

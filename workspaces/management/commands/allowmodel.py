"""allowmodel SLUG: let a workspace use the installation's model; --off: no longer."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kb_project.commands import DataCommand
from workspaces import ports
from workspaces.language_models import services
from workspaces.people import queries as people_queries


class Command(DataCommand):
    help = "Let a workspace use the installation's model (MODEL_ENDPOINT)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("workspace", metavar="SLUG")
        parser.add_argument("--off", action="store_true", help="Withdraw the permission.")

    def handle(self, *_args: Any, workspace: str, off: bool, **_options: Any) -> None:
        found = people_queries.workspace_at(slug=workspace)
        services.installation_model_allow(workspace=found, is_allowed=not off)
        may = "may not" if off else "may"
        self.stdout.write(f"The workspace '{found.slug}' {may} use the installation's model.")
        if not ports.installation_has_model():
            self.stdout.write("There is none: MODEL_ENDPOINT and MODEL_NAME set one.")
        elif settings.MODEL_FOR == "all":
            self.stdout.write("MODEL_FOR=all lets every workspace use it.")

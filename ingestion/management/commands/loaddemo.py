"""loaddemo: load the demo workspace, so that a new installation has something to query."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandParser

import ingestion
from ingestion.documents import outcomes, services
from ingestion.models import Document
from kb_project.commands import DataCommand
from workspaces import access
from workspaces.models import User, Workspace
from workspaces.people import services as people_services

SLUG: Final = "demo"
NAME: Final = "Merrow Sound Trust"
DOCUMENTS: Final = Path(ingestion.__file__).parent / "demo" / "documents"


class Command(DataCommand):
    help = "Load the demo workspace; do nothing if it is already complete."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--no-wait", action="store_true", help="Leave processing the documents to the workers."
        )

    def handle(self, *_args: Any, no_wait: bool, **_options: Any) -> None:
        workspace = _workspace()
        if not workspace.is_demo:
            self.stdout.write(f"'{SLUG}' is one of your own workspaces; it was not changed.")
            return
        added = _add_missing(workspace)
        with access.in_workspace(workspace.pk):
            is_unfinished = outcomes.has_unfinished_work(workspace=workspace)
        if is_unfinished and not no_wait:
            services.process_workspace(workspace=workspace)
        result = f"{added} documents added" if added else "already complete"
        self.stdout.write(f"Demo workspace '{NAME}': {result}.")
        self.stdout.write(f"Sign in as {settings.DEMO_EMAIL} / {settings.DEMO_PASSWORD}")


def _workspace() -> Workspace:
    """Return the demo workspace and make sure of its user; an existing one keeps their password."""
    person = User.objects.filter(email=settings.DEMO_EMAIL.lower()).first()
    owner = person or people_services.person_add(
        email=settings.DEMO_EMAIL, password=settings.DEMO_PASSWORD, name="Demo"
    )
    found = Workspace.objects.filter(slug=SLUG).first()
    return found or people_services.workspace_create(
        name=NAME, slug=SLUG, owner=owner, is_demo=True
    )


def _add_missing(workspace: Workspace) -> int:
    with access.in_workspace(workspace.pk):
        names = set(Document.objects.in_workspace(workspace).values_list("name", flat=True))
    missing = [path for path in sorted(DOCUMENTS.iterdir()) if path.name not in names]
    for path in missing:
        with path.open("rb") as file, access.in_workspace(workspace.pk):
            services.document_upload(workspace=workspace, file=file, name=path.name)
    return len(missing)

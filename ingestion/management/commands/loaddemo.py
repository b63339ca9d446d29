"""loaddemo: load the demo workspace, so that a new installation has something to query."""

from __future__ import annotations

from collections.abc import Sequence
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
        workspace = _workspace(_person())
        if not workspace.is_demo:
            self.stdout.write(f"'{SLUG}' is one of your own workspaces; it was not changed.")
            return
        added = _add_missing(workspace)
        if not no_wait and _is_unfinished(workspace):
            services.process_workspace(workspace=workspace)
        said = f"{added} documents added" if added else "already complete"
        self.stdout.write(f"Demo workspace '{NAME}': {said}.")
        self.stdout.write(f"Sign in as {settings.DEMO_EMAIL} / {settings.DEMO_PASSWORD}")


def _person() -> User:
    """Return the demo user; an existing one keeps their password."""
    found = User.objects.filter(email=settings.DEMO_EMAIL.lower()).first()
    return found or people_services.person_add(
        email=settings.DEMO_EMAIL, password=settings.DEMO_PASSWORD, name="Demo"
    )


def _workspace(owner: User) -> Workspace:
    found = Workspace.objects.filter(slug=SLUG).first()
    return found or people_services.workspace_create(
        name=NAME, slug=SLUG, owner=owner, is_demo=True
    )


def _add_missing(workspace: Workspace) -> int:
    missing = _missing(workspace, sorted(DOCUMENTS.iterdir()))
    for path in missing:
        with path.open("rb") as file, access.in_workspace(workspace.pk):
            services.document_upload(workspace=workspace, file=file, name=path.name)
    return len(missing)


def _missing(workspace: Workspace, paths: Sequence[Path]) -> list[Path]:
    with access.in_workspace(workspace.pk):
        names = set(Document.objects.in_workspace(workspace).values_list("name", flat=True))
    return [path for path in paths if path.name not in names]


def _is_unfinished(workspace: Workspace) -> bool:
    with access.in_workspace(workspace.pk):
        return outcomes.has_unfinished_work(workspace=workspace)

"""loaddemo: load the demo workspace, so that a new installation has something to query."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandParser

import ingestion
from ingestion.documents import outcomes, services
from ingestion.models import Document
from kb_project.commands import DataCommand
from workspaces import access, ports
from workspaces.language_models import services as model_services
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

        parser.add_argument(
            "--with-model", action="store_true", help="Let it use the installation's model."
        )

    def handle(self, *_args: Any, no_wait: bool, with_model: bool, **_options: Any) -> None:
        person, password = _person()
        workspace = _workspace(person)
        if not workspace.is_demo:
            self.stdout.write(f"'{SLUG}' is one of your own workspaces; it was not changed.")
            return
        if with_model:
            _allow_model(workspace)
        added = _add_missing(workspace)
        with access.in_workspace(workspace.pk):
            is_unfinished = outcomes.has_unfinished_work(workspace=workspace)
        if is_unfinished and not no_wait:
            services.process_workspace(workspace=workspace)
        result = f"{added} documents added" if added else "already complete"
        self.stdout.write(f"Demo workspace '{NAME}': {result}.")
        if password:
            self.stdout.write(f"Sign in as {person.email} / {password}")


def _person() -> tuple[User, str]:
    """Return the demo's user, and their password if it is known here.

    An existing one keeps their password, unless it is the published one and others can reach this
    server: then a random one replaces it, and is shown this once.
    """
    email, password = settings.DEMO_EMAIL.lower(), settings.DEMO_PASSWORD
    person = User.objects.filter(email=email).first()
    if person is None:
        password = password or secrets.token_urlsafe(12)
        return people_services.person_add(email=email, password=password, name="Demo"), password
    is_exposed = password != settings.PUBLISHED_DEMO_PASSWORD
    if is_exposed and person.check_password(settings.PUBLISHED_DEMO_PASSWORD):
        password = password or secrets.token_urlsafe(12)
        person.set_password(password)
        person.save(update_fields=["password"])
    return person, password


def _workspace(owner: User) -> Workspace:
    if found := Workspace.id_at(SLUG):
        return Workspace.objects.get(pk=found)
    return people_services.workspace_create(name=NAME, slug=SLUG, owner=owner, is_demo=True)


def _allow_model(workspace: Workspace) -> None:
    row = ports.settings_of(workspace.pk)
    if row is None or not row.may_use_installation:
        model_services.installation_model_allow(workspace=workspace, is_allowed=True)


def _add_missing(workspace: Workspace) -> int:
    with access.in_workspace(workspace.pk):
        names = set(Document.objects.in_workspace(workspace).values_list("name", flat=True))
    missing = [path for path in sorted(DOCUMENTS.iterdir()) if path.name not in names]
    for path in missing:
        with path.open("rb") as file, access.in_workspace(workspace.pk):
            services.document_upload(workspace=workspace, file=file, name=path.name)
    return len(missing)

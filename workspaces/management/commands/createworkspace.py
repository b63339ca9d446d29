"""createworkspace NAME --slug SLUG: create a workspace."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from kb_project.commands import DataCommand
from workspaces.language_models import services
from workspaces.people import queries as people_queries, services as people_services


class Command(DataCommand):
    help = "Create a workspace."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="Name shown to people.")
        parser.add_argument(
            "--slug", default="", help="Slug for its URL; made from the name if omitted."
        )
        parser.add_argument(
            "--owner",
            default="",
            metavar="EMAIL",
            help="Owner's e-mail address; default: the server's only account, if it has just one.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *_args: Any, name: str, slug: str, owner: str, **options: Any) -> None:
        person = people_queries.person(email=owner) if owner else people_queries.only_person()
        workspace = people_services.workspace_create(name=name, slug=slug, owner=person)
        # Only the operator has a command line.
        services.installation_model_allow(workspace=workspace, is_allowed=True)
        answer = {
            "workspace": str(workspace.pk),
            "slug": workspace.slug,
            "name": workspace.name,
            "owner": person.email if person else None,
        }
        self.stdout.write(
            json.dumps(answer, ensure_ascii=False) if options["json"] else _as_text(answer)
        )


def _as_text(answer: dict[str, Any]) -> str:
    owner = answer["owner"]
    whose = f"It belongs to {owner}." if owner else "It has no members; use --owner to set one."
    return f"The workspace '{answer['name']}' is at /w/{answer['slug']}/. {whose}"

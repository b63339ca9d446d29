"""createtoken --workspace SLUG --user EMAIL --name NAME: create an API token for a program."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from kb_project.commands import DataCommand
from workspaces import access
from workspaces.models import Capability
from workspaces.people import queries as people_queries
from workspaces.tokens import services


class Command(DataCommand):
    help = "Create an API token of a member, and print it. It cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", required=True, metavar="SLUG")
        parser.add_argument(
            "--user",
            default="",
            metavar="EMAIL",
            help="The member it acts for; default: the server's only account, if it has just one.",
        )
        parser.add_argument("--name", required=True, help="The program that will use it.")
        parser.add_argument(
            "--may",
            action="append",
            default=[],
            metavar="CAPABILITY,…",
            help="What it may do besides reading: "
            + ", ".join(Capability.values[1:])
            + ". May be repeated.",
        )
        parser.add_argument(
            "--days",
            type=int,
            default=services.DEFAULT_DAYS,
            help=f"Days until it expires; default {services.DEFAULT_DAYS}, 0: it does not.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *_args: Any, workspace: str, user: str, days: int, **options: Any) -> None:
        if not 0 <= days <= services.MOST_DAYS:
            raise CommandError(f"--days must be between 0 and {services.MOST_DAYS}.")
        place = people_queries.workspace_at(slug=workspace)
        person = people_queries.person(email=user) if user else people_queries.only_person()
        if person is None:
            raise CommandError("Name the member with --user: there are several accounts.")
        with access.in_workspace(place.pk):
            token, text = services.token_create(
                workspace=place,
                member=person,
                name=options["name"],
                capabilities=[
                    one.strip() for one in ",".join(options["may"]).split(",") if one.strip()
                ],
                days=days or None,
                by=None,
            )
        shown = {
            "token": text,
            "id": str(token.pk),
            "name": token.name,
            "capabilities": token.capabilities,
            "expires_at": token.expires_at.isoformat() if token.expires_at else None,
        }
        self.stdout.write(json.dumps(shown, ensure_ascii=False) if options["json"] else text)

"""resealkeys: after SECRET_KEY was changed, seal what it seals with the new one."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

from django.core.management.base import CommandParser

from kb_project.commands import DataCommand
from workspaces import resealing
from workspaces.models import Workspace
from workspaces.resealing import PRESENT, RENEWED, UNREADABLE


class Command(DataCommand):
    help = (
        "Seal all stored keys and passwords with the present SECRET_KEY; SECRET_KEY_FALLBACKS"
        " must contain the former one. Safe to interrupt and repeat. Exit code 1 if something"
        " cannot be opened."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        keys: Counter[str] = Counter()
        unreadable: list[str] = []
        for workspace in Workspace.objects.order_by("slug").iterator():
            found = resealing.reseal_workspace(workspace)
            keys += found
            if found[UNREADABLE]:
                unreadable.append(workspace.slug)
        passwords = resealing.reseal_passwords()
        factors = resealing.reseal_factors()
        answer = {
            "keys": _counts(keys),
            "passwords": _counts(passwords),
            "factors": _counts(factors),
            "unreadable": unreadable,
        }
        lines = [
            _line("keys", keys, "enter them again on the page Models"),
            _line("passwords", passwords, "these people must reset theirs"),
            _line("second factors", factors, "these people must set up theirs again"),
            *(f"cannot be opened in: {slug}" for slug in unreadable),
        ]
        self.stdout.write(json.dumps(answer) if options["json"] else "\n".join(lines))
        if keys[UNREADABLE] or passwords[UNREADABLE] or factors[UNREADABLE]:
            sys.exit(1)


def _counts(found: Counter[str]) -> dict[str, int]:
    return {outcome: found[outcome] for outcome in (RENEWED, PRESENT, UNREADABLE)}


def _line(what: str, found: Counter[str], next_step: str) -> str:
    line = f"{what}: {found[RENEWED]} sealed again, {found[PRESENT]} already up to date"
    if found[UNREADABLE]:
        line += f", {found[UNREADABLE]} cannot be opened; {next_step}"
    return line

"""Options of the commands that ask and search: question, workspace, mode and scope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.core.management.base import CommandParser

from retrieval.search import scope
from retrieval.search.modes import DEFAULT_MODE, MODES, Mode
from retrieval.search.query import Selection
from retrieval.search.scope import Scope
from workspaces import access
from workspaces.models import Workspace

NAMES: Final = ("collection", "tag", "media_type", "document", "include", "exclude")


def add_question_options(parser: CommandParser, modes: Mapping[str, Mode] = MODES) -> None:
    parser.add_argument("question")
    parser.add_argument("--workspace", required=True, metavar="SLUG")
    parser.add_argument(
        "--mode", default=DEFAULT_MODE, help=f"Search mode: one of {', '.join(modes)}."
    )
    add_scope_options(parser)
    parser.add_argument(
        "--level",
        type=int,
        metavar="N",
        help="For the mode global: the deepest level of topics to read, 0 for the main topics.",
    )
    parser.add_argument(
        "--selection",
        choices=[one.value for one in Selection],
        help="For the mode global: whether a model first rates which topics are worth reading.",
    )
    parser.add_argument("--json", action="store_true", help="Print one JSON object.")


def add_scope_options(parser: CommandParser) -> None:
    several: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument(
        "--collection", metavar="NAME", help="Only documents in this collection.", **several
    )
    parser.add_argument("--tag", metavar="TAG", help="Only documents with this tag.", **several)
    parser.add_argument("--media-type", metavar="TYPE", help="Only files of this type.", **several)
    parser.add_argument("--document", metavar="ID", help="Only this document.", **several)
    parser.add_argument(
        "--dated-from", metavar="DATE", default="", help="First date, for example 2024-05-01."
    )
    parser.add_argument(
        "--dated-to", metavar="DATE", default="", help="Last date, for example 2024-12-31."
    )
    parser.add_argument(
        "--as-of",
        metavar="DATE",
        default="",
        help="Leave out what the text dates otherwise: 2019, 2019-05 or 2019-05-03.",
    )
    parser.add_argument("--include", metavar="NAME", help="Search for this name too.", **several)
    parser.add_argument(
        "--exclude", metavar="NAME", help="Leave out passages that mention this name.", **several
    )


def scope_of(workspace: Workspace, options: dict[str, Any]) -> Scope:
    """Build the scope. Raises InputError if a filter names nothing, or has an invalid value."""
    if not any(options[name] for name in (*NAMES, "dated_from", "dated_to", "as_of")):
        return Scope()
    with access.in_workspace(workspace.pk):
        collections = [
            scope.collection_named(workspace=workspace, name=name) for name in options["collection"]
        ]
        named = {
            filter_: [
                scope.entity_named(workspace=workspace, name=name).pk for name in options[filter_]
            ]
            for filter_ in ("include", "exclude")
        }
    return Scope.from_json(
        {
            "collections": [one.pk for one in collections],
            "tags": options["tag"],
            "media_types": options["media_type"],
            "documents": options["document"],
            "dated_from": options["dated_from"],
            "dated_to": options["dated_to"],
            "as_of": options["as_of"],
            **named,
        }
    )

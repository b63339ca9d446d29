"""usage --workspace SLUG: show its model calls, tokens and cost."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from kb_project.commands import DataCommand
from workspaces import access
from workspaces.models import Workspace
from workspaces.people import queries as people_queries
from workspaces.usage import caps, queries as usage_queries
from workspaces.usage.queries import UsageLine


class Command(DataCommand):
    help = "Show a workspace's model calls, tokens and cost."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", required=True, metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *_args: Any, workspace: str, **options: Any) -> None:
        answer = _answer(people_queries.workspace_at(slug=workspace))
        text = json.dumps(answer, ensure_ascii=False) if options["json"] else _as_text(answer)
        self.stdout.write(text)


def _answer(workspace: Workspace) -> dict[str, Any]:
    with access.in_workspace(workspace.pk):
        total = usage_queries.usage_total(workspace=workspace)
        spending = usage_queries.spending_of(workspace=workspace)
        limits = caps.caps_of(workspace=workspace, viewer=None)
        parts = {
            f"by_{by}": [_line(line) for line in usage_queries.usage_by(workspace=workspace, by=by)]
            for by in usage_queries.USAGE_KINDS
        }
    return {
        "workspace": workspace.slug,
        "total": _line(total),
        "budget": None if spending.cap is None else float(spending.cap),
        "spent": float(spending.spent),
        "caps": [
            {"kind": str(one.kind), "cap": float(one.cap), "spent": float(one.spent or 0)}
            for one in limits
        ],
        **parts,
    }


def _line(line: UsageLine) -> dict[str, Any]:
    return {
        "name": line.name,
        "calls": line.calls,
        "cached": line.cached,
        "failed": line.failed,
        "prompt_tokens": line.prompt_tokens,
        "cached_tokens": line.cached_tokens,
        "completion_tokens": line.completion_tokens,
        "cost": float(line.cost),
    }


def _as_text(answer: dict[str, Any]) -> str:
    total = answer["total"]
    if not total["calls"]:
        return f"The workspace '{answer['workspace']}' has called no model."
    budget = "no limit" if answer["budget"] is None else f"of {answer['budget']:g}"
    known = f" ({total['cached_tokens']} known to the provider)" if total["cached_tokens"] else ""
    lines = [
        f"{total['calls']} calls, {total['cached']} of them answered from the cache at no cost.",
        f"{total['prompt_tokens']} tokens in{known}, {total['completion_tokens']} out;"
        f" {answer['spent']:.4f} spent, {budget}.",
        *(
            f"This month, {caps.WHOSE[caps.CapKind(one['kind'])]}: {one['spent']:.4f}"
            f" of {one['cap']:g}."
            for one in answer["caps"]
        ),
        "",
        *(_row(line) for line in answer["by_stage"]),
        "",
        *(_row(line) for line in answer["by_model"]),
    ]
    return "\n".join(lines)


def _row(line: dict[str, Any]) -> str:
    tokens = line["prompt_tokens"] + line["completion_tokens"]
    return (
        f"{line['name']:<30.30} {line['calls']:>7} calls {tokens:>10} tokens {line['cost']:>10.4f}"
    )

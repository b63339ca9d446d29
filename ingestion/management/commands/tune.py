"""tune --workspace SLUG: have the model learn from a sample of the documents, or edit it."""

from __future__ import annotations

import json
from typing import Any, Final

from django.core.management.base import CommandParser

from ingestion.pipeline import inline, workspace_jobs
from kb_project.commands import DataCommand
from kb_project.errors import StageError
from workspaces import access
from workspaces.language_models import queries, services
from workspaces.language_models.services import TUNABLE, config_needed
from workspaces.models import Workspace
from workspaces.people import queries as people_queries

TITLES: Final = {
    "domain": "About",
    "language": "Language",
    "persona": "Persona",
    "report_rating": "What matters",
    "report_language": "Language of reports",
}


class Command(DataCommand):
    help = "Have the model learn from a sample of the documents, or edit what it learned."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", required=True, metavar="SLUG")
        parser.add_argument("--show", action="store_true", help="Only show what was learned.")
        parser.add_argument("--forget", action="store_true", help="Forget what was learned.")
        for name, title in TITLES.items():
            parser.add_argument(
                f"--{name.replace('_', '-')}",
                metavar="TEXT",
                help=f"{title}: replace it, without asking the model.",
            )
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *_args: Any, workspace: str, **options: Any) -> None:
        found = people_queries.workspace_at(slug=workspace)
        changes = {name: options[name] for name in TUNABLE if options[name] is not None}
        if options["forget"]:
            services.tuning_forget(workspace=found)
        elif changes:
            services.tuning_set(workspace=found, changes=changes)
        elif not options["show"]:
            self._learn(found)
        with access.in_workspace(found.pk):
            learned = queries.model_state(workspace=found).tuning
        is_json = options["json"]
        self.stdout.write(json.dumps(learned, ensure_ascii=False) if is_json else as_text(learned))

    def _learn(self, workspace: Workspace) -> None:
        """Learn in this process, alongside any workers. Raises StageError if it learned nothing."""
        config_needed(workspace)
        workspace_jobs.tuning_begin(workspace_id=workspace.pk)
        self.stderr.write("The model reads a sample of the documents.")
        inline.drain(workspace.pk)
        with access.in_workspace(workspace.pk):
            problem: Any = queries.model_state(workspace=workspace).tuning.get("problem")
        if problem:
            raise StageError(
                problem["happened"],
                code=problem["code"],
                kept=problem["kept"],
                next_step=problem["next_step"],
            )


def as_text(learned: dict[str, Any]) -> str:
    if not learned:
        return "Nothing was learned from the documents."
    lines = [f"{title}: {learned[name]}" for name, title in TITLES.items() if learned.get(name)]
    lines.append(f"Entity types: {', '.join(learned.get('types', ())) or 'none'}")
    lines.append(f"Worked examples: {len(learned.get('examples', ()))}")
    return "\n".join(lines)

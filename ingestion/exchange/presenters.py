"""What pages and API show of exports and imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ingestion.exchange import exporting
from ingestion.exchange.importing import choices_of, graph_of, imports_of
from ingestion.exchange.planning import plan_of
from ingestion.exchange.plans import Choices, Conflicts, Outcome, Plan, PlannedEntity, PlannedFact
from ingestion.exchange.records import Scope
from ingestion.knowledge import queries as knowledge, topics
from ingestion.models import Document, GraphImport, ImportState
from kb_project.text.words import counted
from workspaces.models import Workspace

SHOWN: Final = 20
"""Rows shown of each outcome."""
MOST_CHOICES: Final = 500
"""Topics and documents to choose from."""
ON_PAGE: Final = ("graphml", "gexf", "json", "csv")
FORMAT_LABELS: Final = {"graphml": "GraphML", "json": "JSON", "csv": "CSV"}
OUTCOMES: Final[Mapping[Outcome, tuple[str, str]]] = {
    Outcome.CONFLICT: ("Conflicts", "What happens to these depends on your choice above."),
    Outcome.LEFT_OUT: ("Left out", "These rows are not imported, for the reason given."),
    Outcome.NEW: ("New", "These are created."),
    Outcome.MATCHED: ("Already here", "These are used as they are."),
}
CONFLICT_LABELS: Final = {
    Conflicts.LEAVE_OUT: "Leave them out, and their facts",
    Conflicts.MATCH: "Use the entity that is here, or the first of that name in the file",
    Conflicts.SEPARATE: "Create them as separate entities of the same name",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of one kind with one outcome: the first of them, and how many there are."""

    outcome: Outcome
    label: str
    hint: str
    total: int
    rows: Sequence[PlannedEntity | PlannedFact]

    @property
    def more(self) -> int:
        return self.total - len(self.rows)


def groups_of(rows: Sequence[PlannedEntity] | Sequence[PlannedFact]) -> list[Group]:
    """Group rows by outcome, those to look at first."""
    groups = []
    for outcome, (label, hint) in OUTCOMES.items():
        found = [row for row in rows if row.outcome == outcome]
        if found:
            groups.append(Group(outcome, label, hint, len(found), found[:SHOWN]))
    return groups


def made_by(plan: Plan) -> str:
    """Say what an import creates, or created."""
    entities = counted(len(plan.new_entities), "new entity", "new entities")
    facts = counted(len(plan.new_facts), "new fact")
    names = counted(sum(len(one.names) for one in plan.changed), "alias", "aliases")
    more = f", and {names} of existing entities" if plan.changed else ""
    return f"{entities} and {facts}{more}"


def notes_of(plan: Plan) -> list[str]:
    """Say what else happens."""
    notes = []
    if plan.joined:
        times = counted(plan.joined, "fact repeats", "facts repeat")
        notes.append(f"{times} two entities that another fact links already; they become one fact.")
    if plan.aliases_left:
        left = counted(plan.aliases_left, "alias is", "aliases are")
        notes.append(f"{left} left out, because another entity has that name.")
    return notes


def outcome_of(row: GraphImport) -> str:
    """Say how an import ended, '' before that."""
    if row.state == ImportState.FAILED and row.problem:
        return str(row.problem["happened"])
    if row.state != ImportState.DONE:
        return ""
    entities = counted(row.counts.get("entities", 0), "entity", "entities")
    facts = counted(row.counts.get("facts", 0), "fact")
    left = row.counts.get("entities_left_out", 0) + row.counts.get("facts_left_out", 0)
    rest = f" {counted(left, 'row was', 'rows were')} left out." if left else ""
    return f"{entities} and {facts} were created.{rest}"


# --- pages ----------------------------------------------------------------------------------------
def transfer_context(*, workspace: Workspace, scope: Scope) -> dict[str, Any]:
    may_curate = workspace.may_curate
    return {
        "workspace": workspace,
        "section": "entities",
        "formats": [(name, exporting.FORMATS[name]) for name in ON_PAGE],
        "types": knowledge.entity_types(workspace=workspace),
        "topics": topics.topics_to_choose(workspace, MOST_CHOICES, scope.topic),
        "documents": Document.objects.in_workspace(workspace).order_by("title")[:MOST_CHOICES],
        "scope": scope,
        "may_export": workspace.may_export,
        "may_curate": may_curate,
        "imports": imports_of(workspace=workspace) if may_curate else [],
    }


def import_context(
    *, workspace: Workspace, row: GraphImport, choices: Choices | None = None
) -> dict[str, Any]:
    context: dict[str, Any] = {
        "workspace": workspace,
        "section": "entities",
        "row": row,
        "format": FORMAT_LABELS.get(row.format, row.format),
        "is_under_way": row.state in (ImportState.WAITING, ImportState.RUNNING),
        "outcome": outcome_of(row),
    }
    if row.state != ImportState.PREVIEW:
        return context
    chosen = choices or choices_of(row.choices)
    plan = plan_of(workspace, graph_of(row), chosen)
    return context | {
        "plan": plan,
        "summary": f"Importing this file creates {made_by(plan)}.",
        "notes": notes_of(plan),
        "tables": [
            ("Entities", groups_of(plan.entities)),
            ("Facts", groups_of(plan.facts)),
        ],
        "choices": chosen,
        "conflict_choices": list(CONFLICT_LABELS.items()),
        "has_conflicts": any(one.outcome == Outcome.CONFLICT for one in plan.entities),
        "has_missing": chosen.makes_missing or any("no entity" in f.reason for f in plan.facts),
    }

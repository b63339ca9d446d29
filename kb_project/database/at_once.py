"""Several changes of tables as one operation of a migration.

After each operation Django makes the model's class again, and those of all that are related to it.
Here every table is related to its workspace: most of a first start went into this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.operations.fields import AddField, AlterField, RemoveField
from django.db.migrations.operations.models import (
    AddConstraint,
    AddIndex,
    CreateModel,
    RemoveConstraint,
    RemoveIndex,
)
from django.db.migrations.state import ProjectState

KINDS: Final = (
    CreateModel,
    AddField,
    AlterField,
    RemoveField,
    AddIndex,
    RemoveIndex,
    AddConstraint,
    RemoveConstraint,
)


class AtOnce(Operation):
    """Make ``changes`` in their order, each between the states before and after all of them.

    So none may build on another: ``ValueError`` if one changes a model that another creates, or is
    of another kind. Nor may a constraint of expressions have a field that is added beside it.
    """

    serialization_expand_args = ["changes"]

    def __init__(self, changes: Sequence[Operation]) -> None:
        self.changes = list(changes)
        created: set[str] = set()
        for change in changes:
            if not isinstance(change, KINDS) or _model(change) in created:
                raise ValueError(f"This needs a step of its own: {change.describe()}.")
            if isinstance(change, CreateModel):
                created.add(_model(change))

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        apps = state.__dict__.pop("apps", None)
        for change in self.changes:
            change.state_forwards(app_label, state)
        if apps is not None:
            state.apps = apps
            changed = [(app_label, _model(change)) for change in self.changes]
            state.reload_models(changed, delay=False)

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for change in self.changes:
            change.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for change in reversed(self.changes):
            change.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return ", ".join(change.describe() for change in self.changes)


def _model(change: Operation) -> str:
    name = change.name if isinstance(change, CreateModel) else getattr(change, "model_name", "")
    return str(name).lower()

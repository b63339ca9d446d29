"""Decisions about names are written in one place, by two modules."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ingestion.resolution.decisions import DECISIONS

INGESTION = Path(__file__).parents[3] / "ingestion"
WRITING = {"create", "bulk_create", "update", "save", "delete"}
HOME = {"resolution/decisions.py", "resolution/recorder.py"}


def writers(model: str) -> set[str]:
    """The modules that write rows of the model by its manager."""
    found = set()
    for path in INGESTION.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in WRITING
                and ast.unparse(node.func).startswith(f"{model}.objects")
            ):
                found.add(path.relative_to(INGESTION).as_posix())
    return found


@pytest.mark.parametrize("model", [model.__name__ for model in DECISIONS])
def test_only_the_room_of_decisions_writes_them(model: str):
    assert writers(model) <= HOME

"""Backups for tests: an installation worth one, databases to restore into, and forged archives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from secrets import token_hex
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.core.management import call_command
from django.db import connections

from ingestion import post_restore
from ingestion.curation import entities
from ingestion.health import services as health
from ingestion.history.recording import ChangeContext
from ingestion.models import Entity
from ingestion.pipeline import inline
from kb_project.backup import archive, restoring, writing
from kb_project.backup.restoring import Restored
from retrieval.conversations import asking
from retrieval.models import Answer, Citation
from tests import databases, rows
from tests.ingestion.jobs import add
from workspaces import access
from workspaces.models import ModelSettings, User, Workspace
from workspaces.secrets import seal

TEXTS = {
    "keepers.txt": "Ada Lind keeps the light of Skarrow.\n\nBo Strand sells oil to Ada Lind.",
    "boats.txt": "The boat of Bo Strand comes to Skarrow on Fridays.",
    "storms.txt": "In the storm of 1987 Ada Lind kept the light of Skarrow burning.",
}
QUESTION = "Who keeps the light of Skarrow?"
MODES = ("walk", "hybrid", "local", "lexical", "tree")
KEY = "sk-0123456789abcdef"

Members = dict[str, bytes]


def quiet(_what: str, _done: int, _total: int) -> None:
    """A report for nobody."""


def make_harbour(name: str = "Harbour") -> rows.Cast:
    """A workspace with documents that were read, people, a question, its history and a key."""
    cast = rows.make_cast(name)
    for title, text in TEXTS.items():
        add(cast.workspace, title, text)
    inline.drain(cast.workspace.pk)
    asking.ask(workspace=cast.workspace, user=cast.bob, question=QUESTION, mode="walk")
    with access.in_workspace(cast.workspace.pk):
        bo = Entity.objects.in_workspace(cast.workspace).get(key="bo strand")
        change = ChangeContext(cast.workspace, cast.alice)
        entities.entity_edit(change=change, entity=bo, is_confirmed=True)
        ModelSettings.objects.create(
            workspace=cast.workspace,
            is_local=True,
            rerank_endpoint="http://localhost:1/v1",
            rerank_sealed_key=seal(KEY, cast.workspace.pk),
            rerank_key_hint="cdef",
        )
    inline.drain(cast.workspace.pk)
    return cast


def write(path: Path, slug: str = "", *, with_secrets: bool = False) -> Path:
    writing.write(path, slug, with_secrets=with_secrets, report=quiet)
    return path


def restore(path: Path, *, into: str = "", as_new: bool = False) -> Restored:
    with archive.opened(path) as opened:
        return restoring.restore(opened, post_restore.HOOKS, slug=into, as_new=as_new, report=quiet)


def command(*words: str | Path) -> dict[str, Any]:
    """What a command says as JSON."""
    out = StringIO()
    call_command(*map(str, words), "--json", stdout=out, stderr=StringIO())
    said: dict[str, Any] = json.loads(out.getvalue())
    return said


@contextmanager
def fresh_database() -> Iterator[None]:
    """A second, empty, migrated database; Django leads to it for the length of the block."""
    server = databases.server_for_tests()
    before = connections["default"].settings_dict["NAME"]
    # A name of its own: another one may still be on its way out.
    made = databases.create_test_database(server, f"fresh{token_hex(4)}")
    try:
        yield
    finally:
        databases.destroy_test_database(server, made)
        databases._point_to(server, before)


def unpacked(path: Path) -> Members:
    with ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def forged(path: Path, change: Callable[[Members, dict[str, Any]], None]) -> Path:
    """A copy that somebody has been at; sums and sizes are told as they are then, where ``change``
    leaves them in the manifest at all."""
    members = unpacked(path)
    manifest = json.loads(members.pop("manifest.json"))
    change(members, manifest)
    forgery = path.with_name(f"forged-{path.name}")
    with ZipFile(forgery, "w", ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
        file.writestr("manifest.json", json.dumps(manifest))
    return forgery


def stated(content: bytes) -> Mapping[str, Any]:
    """What a manifest says of a member."""
    digest = hashlib.sha256(content).hexdigest()
    return {"bytes": len(content), "sha256": digest, "rows": content.count(b"\n")}


def table(members: Members, name: str) -> str:
    """The member of a workspace's table."""
    [member] = [one for one in members if one.endswith(f"/{name}.ndjson")]
    return member


def answers(workspace: Workspace, user: User) -> dict[str, Any]:
    """To one question in several modes: what is said, and which passages it rests on."""
    return {mode: _answer(workspace, user, mode) for mode in MODES}


def _answer(workspace: Workspace, user: User, mode: str) -> Any:
    answer: Answer = asking.ask(workspace=workspace, user=user, question=QUESTION, mode=mode)
    with access.in_workspace(workspace.pk):
        cited = Citation.objects.in_workspace(workspace).filter(answer=answer)
        places = ("number", "document_id", "chunk_id", "start", "end", "quote")
        return answer.is_supported, answer.sentences, list(cited.values_list(*places))


def drifts(workspace: Workspace) -> list[str]:
    """What the workspace is otherwise than it should be, in sentences."""
    return [drift.sentence for drift in health.check(workspace.pk, is_deep=True).drifts]

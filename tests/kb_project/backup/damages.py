"""What somebody may have done to an archive, each with its sums told anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.backups import Members, stated, table

OTHER = "00000000-0000-0000-0000-000000000001"

Change = Callable[[Members, dict[str, Any]], None]


# --- the manifest ---------------------------------------------------------------------------------
def newer(_members: Members, manifest: dict[str, Any]) -> None:
    manifest["format"] = 2


def of_a_newer_version(_members: Members, manifest: dict[str, Any]) -> None:
    manifest["migrations"]["ingestion"].append("9999_later")


def of_an_older_version(_members: Members, manifest: dict[str, Any]) -> None:
    manifest["migrations"]["ingestion"].pop()


def without_its_members(_members: Members, manifest: dict[str, Any]) -> None:
    del manifest["members"]


def of_negative_size(_members: Members, manifest: dict[str, Any]) -> None:
    manifest["members"]["people.ndjson"]["bytes"] = -1


def of_strange_kind(_members: Members, manifest: dict[str, Any]) -> None:
    manifest["kind"] = "everything"


def with_another_sum(_members: Members, manifest: dict[str, Any]) -> None:
    manifest["members"]["workspace_list.ndjson"]["sha256"] = "0" * 64


def with_more_rows(_members: Members, manifest: dict[str, Any]) -> None:
    manifest["members"]["workspace_list.ndjson"]["rows"] = 2


def with_a_huge_size(_members: Members, manifest: dict[str, Any]) -> None:
    manifest["members"]["workspace_list.ndjson"]["bytes"] = 10**15


def with_something_missing(members: Members, _manifest: dict[str, Any]) -> None:
    del members["people.ndjson"]


# --- the members ----------------------------------------------------------------------------------
def put(members: Members, manifest: dict[str, Any], name: str, content: bytes) -> None:
    members[name] = content
    manifest["members"][name] = stated(content)


def climbing(members: Members, manifest: dict[str, Any]) -> None:
    put(members, manifest, "files/../../../etc/passwd", b"x")


def absolute(members: Members, manifest: dict[str, Any]) -> None:
    put(members, manifest, "/etc/passwd", b"x")


def of_another_workspace(members: Members, manifest: dict[str, Any]) -> None:
    put(members, manifest, f"files/{OTHER}/secret", b"x")


def of_no_document(members: Members, manifest: dict[str, Any]) -> None:
    [workspace_id] = manifest["workspaces"]
    put(members, manifest, f"files/{workspace_id}/unknown", b"x")


def of_an_unknown_table(members: Members, manifest: dict[str, Any]) -> None:
    [workspace_id] = manifest["workspaces"]
    put(members, manifest, f"workspaces/{workspace_id}/pg_authid.ndjson", b"{}\n")


def of_the_installation(members: Members, manifest: dict[str, Any]) -> None:
    put(members, manifest, "installation/account_emailaddress.ndjson", b"{}\n")


def bomb(members: Members, manifest: dict[str, Any]) -> None:
    put(members, manifest, "people.ndjson", b" " * 30_000_000)


# --- the rows -------------------------------------------------------------------------------------
def changed(name: str, **values: Any) -> Change:
    """The table's first row with other values; a column of None is taken away."""

    def change(members: Members, manifest: dict[str, Any]) -> None:
        member = name if name in members else table(members, name)
        first, *others = members[member].splitlines(keepends=True)
        row = json.loads(first) | values
        content = json.dumps(row).encode() + b"\n" + b"".join(others)
        put(members, manifest, member, content)

    return change


def twice(members: Members, manifest: dict[str, Any]) -> None:
    member = table(members, "ingestion_entity")
    put(members, manifest, member, members[member] * 2)


def without_an_end(members: Members, manifest: dict[str, Any]) -> None:
    member = table(members, "ingestion_entity")
    put(members, manifest, member, members[member][:-1])
    manifest["members"][member]["rows"] += 1


def of_a_list(members: Members, manifest: dict[str, Any]) -> None:
    put(members, manifest, table(members, "ingestion_entity"), b"[1]\n")


def very_deep(members: Members, manifest: dict[str, Any]) -> None:
    member = table(members, "ingestion_entity")
    put(members, manifest, member, b'{"id": ' + b"[" * 100_000 + b"\n")


def named_twice(members: Members, manifest: dict[str, Any]) -> None:
    """One reader may take the first of two values, another the last."""
    member = table(members, "ingestion_documentversion")
    line = members[member].replace(b'{"', b'{"blob": "../../secret", "', 1)
    put(members, manifest, member, line)


DAMAGES: dict[str, Change] = {
    "a manifest without members": without_its_members,
    "a negative size": of_negative_size,
    "a kind nobody knows": of_strange_kind,
    "another sum": with_another_sum,
    "more rows": with_more_rows,
    "a huge size": with_a_huge_size,
    "a missing member": with_something_missing,
    "a name that climbs": climbing,
    "an absolute name": absolute,
    "a file of another workspace": of_another_workspace,
    "a file of no document": of_no_document,
    "a table nobody knows": of_an_unknown_table,
    "a table of the installation": of_the_installation,
    "a bomb": bomb,
    "a row twice": twice,
    "a line without an end": without_an_end,
    "a row that is a list": of_a_list,
    "a row without a bottom": very_deep,
    "a file outside": changed("ingestion_documentversion", blob="../../secret"),
    "a file of others": changed("ingestion_documentversion", blob=f"{OTHER}/secret"),
    "another workspace": changed("ingestion_entity", workspace_id=OTHER),
    "an id that is none": changed("ingestion_entity", id="1' OR '1'='1"),
    "a number that is none": changed("ingestion_entity", sense="one"),
    "a number out of range": changed("ingestion_entity", sense=2**40),
    "a text that is too long": changed("ingestion_entity", key="x" * 301),
    "a text with a NUL": changed("ingestion_entity", key="a\0b"),
    "half a character": changed("ingestion_entity", key="\ud800"),
    "a NUL in JSON": changed("ingestion_entity", conflicts=["\0"]),
    "nothing where something is needed": changed("ingestion_entity", key=None),
    "a day that is none": changed("ingestion_entity", created_at="yesterday"),
    "a column more": changed("ingestion_entity", is_admin=True),
    "a stranger": changed("workspaces_membership", user_id=999),
    "nobody's mention": changed("ingestion_mention", entity_id=OTHER),
    "an address with a slash": changed("workspace_list.ndjson", slug="a/b"),
    "another workspace's id": changed("workspace_list.ndjson", id=OTHER),
    "an e-mail address that is none": changed("people.ndjson", email="Alice"),
}

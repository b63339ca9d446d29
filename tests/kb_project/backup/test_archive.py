"""What stands at the front of an archive is read as it was written, or refused with a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_project.backup import archive as manifests
from kb_project.backup.archive import NAMES, Manifest, Member
from kb_project.backup.validation import check_migrations
from kb_project.errors import InputError

WORKSPACE = "0a0b0c0d-0000-4000-8000-000000000001"
FILE = f"files/{WORKSPACE}/a"
DIGEST = "0" * 64
Change = Callable[[dict[str, Any]], object]

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
members = st.builds(
    Member,
    bytes=st.integers(0, 2**50),
    sha256=st.text("0123456789abcdef", min_size=64, max_size=64),
    rows=st.integers(0, 2**40),
)
manifests_ = st.builds(
    Manifest,
    kind=st.just(manifests.INSTALLATION),
    version=names,
    created=names,
    migrations=st.dictionaries(names, st.lists(names, max_size=3), max_size=3),
    workspaces=st.dictionaries(st.uuids().map(str), names, max_size=3),
    has_secrets=st.booleans(),
    members=st.dictionaries(names, members, max_size=4),
    missing=st.lists(names, max_size=3).map(tuple),
)


def make(**more: Any) -> Manifest:
    said: dict[str, Any] = {
        "kind": manifests.WORKSPACE,
        "version": "1.0",
        "created": "2026-11-21T12:00:00+00:00",
        "migrations": {"ingestion": ["0001_first", "0002_second"]},
        "workspaces": {WORKSPACE: "harbour"},
        "members": {"people.ndjson": Member(12, DIGEST, 1), FILE: Member(3, DIGEST)},
    }
    return Manifest(**(said | more))


def changed(change: Change) -> bytes:
    said = json.loads(make().to_json())
    change(said)
    return json.dumps(said).encode()


def refusal(text: bytes) -> InputError:
    with pytest.raises(InputError) as refused:
        Manifest.from_json(text)
    assert refused.value.kept == manifests.NOTHING_WRITTEN
    assert refused.value.next_step
    return refused.value


@given(manifests_)
def test_what_is_written_is_read_as_it_was(manifest: Manifest):
    assert Manifest.from_json(manifest.to_json()) == manifest


def test_sums_are_those_of_its_members():
    manifest = make()

    assert (manifest.rows, manifest.bytes) == (1, 15)
    assert manifest.files() == [f"files/{WORKSPACE}/a"]


@pytest.mark.parametrize("text", [b"[]", b"1", b"null", b'"concordance"', b"{}", b'{"product": 1}'])
def test_what_is_something_else_is_no_backup(text: bytes):
    assert refusal(text).code == "backup_foreign"


@pytest.mark.parametrize("text", [b"", b"{", b"\xff\xfe", b"[" * 100_000, make().to_json()[:-2]])
def test_what_cannot_be_read_is_damaged(text: bytes):
    assert refusal(text).code == "backup_damaged"


@pytest.mark.parametrize("number", [manifests.FORMAT + 1, 10**30, "1", None, 1.0])
def test_a_format_that_is_not_known_asks_for_another_version(number: object):
    error = refusal(changed(lambda said: said.update(format=number)))

    assert error.code == "backup_newer"
    assert str(number) in error.happened


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said.pop("members"),
        lambda said: said.pop("has_secrets"),
        lambda said: said.update(kind="both"),
        lambda said: said.update(workspaces={}),
        lambda said: said.update(workspaces={"../../etc": "harbour"}),
        lambda said: said.update(workspaces=[WORKSPACE]),
        lambda said: said.update(members=["people.ndjson"]),
        lambda said: said.update(migrations={"ingestion": 7}),
        lambda said: said.update(missing=7),
        lambda said: said["members"].update({"people.ndjson": None}),
        lambda said: said["members"]["people.ndjson"].pop("sha256"),
        lambda said: said["members"]["people.ndjson"].update(sha256=DIGEST.upper() + "0"),
        lambda said: said["members"]["people.ndjson"].update(sha256=DIGEST + "\n"),
        lambda said: said["members"]["people.ndjson"].update(bytes=-1),
        lambda said: said["members"]["people.ndjson"].update(bytes=True),
        lambda said: said["members"]["people.ndjson"].update(bytes=1.0),
        lambda said: said["members"]["people.ndjson"].update(rows="1"),
    ],
)
def test_what_lacks_something_or_says_it_in_another_way_is_damaged(change: Change):
    assert refusal(changed(change)).code == "backup_damaged"


def test_two_workspaces_are_no_backup_of_one():
    other = WORKSPACE.replace("1", "2")

    error = refusal(changed(lambda said: said["workspaces"].update({other: "second"})))

    assert error.code == "backup_damaged"


@given(st.binary(max_size=60))
def test_of_any_bytes_nothing_comes_but_a_refusal(text: bytes):
    with pytest.raises(InputError):
        Manifest.from_json(text)


@given(
    st.dictionaries(
        st.sampled_from(["kind", "version", "workspaces", "members", "migrations", "missing"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(), one, max_size=3),
            max_leaves=6,
        ),
    )
)  # fmt: skip
def test_of_any_values_a_manifest_comes_or_a_refusal(values: dict[str, Any]):
    text = changed(lambda said: said.update(values))

    with suppress(InputError):
        manifest = Manifest.from_json(text)

        assert len(manifest.version) <= 40
        assert all(isinstance(one, Member) for one in manifest.members.values())


# --- names of members -----------------------------------------------------------------------------
def test_what_a_backup_writes_has_names_that_a_restore_takes():
    written = [
        manifests.PEOPLE,
        manifests.WORKSPACES,
        manifests.installation_member("account_emailaddress"),
        manifests.table_member(WORKSPACE, "ingestion_document"),
        manifests.file_member(f"{WORKSPACE}/7c0b2f.pdf"),
    ]

    assert [name for name in written if not NAMES.fullmatch(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/people.ndjson",
        "people.ndjson/",
        "people.ndjson\n",
        "files/../../etc/passwd",
        f"files/{WORKSPACE}/../{WORKSPACE}/a",
        f"files/{WORKSPACE}/.hidden",
        f"files/{WORKSPACE}/",
        f"files/{WORKSPACE}/a/b",
        f"files/{WORKSPACE}/{'a' * 121}",
        f"files/{WORKSPACE.upper()}/a",
        f"files\\{WORKSPACE}\\a",
        f"workspaces/{WORKSPACE}/Ingestion_Document.ndjson",
        f"workspaces/{WORKSPACE}/x.ndjson.exe",
        "installation/../people.ndjson",
    ],
)
def test_a_name_that_leads_elsewhere_is_none(name: str):
    assert NAMES.fullmatch(name) is None


# --- which version made it ------------------------------------------------------------------------
def migrated(*last: str) -> Manifest:
    return make(migrations={"ingestion": ["0001_first", *last]})


def test_the_same_migrations_in_another_order_of_apps_are_the_same():
    manifest = make(migrations={"workspaces": ["0001_first"], "ingestion": []})

    check_migrations(manifest, {"ingestion": [], "workspaces": ["0001_first"]})


@pytest.mark.parametrize(
    ("there", "here", "code"),
    [
        (["0002_second"], [], "backup_newer"),
        ([], ["0002_second"], "backup_older"),
        (["0002_another"], ["0002_second"], "backup_newer"),
    ],
)
def test_another_version_says_whether_it_is_newer_or_older(
    there: list[str], here: list[str], code: str
):
    with pytest.raises(InputError) as refused:
        check_migrations(migrated(*there), {"ingestion": ["0001_first", *here]})

    assert refused.value.code == code
    assert "(1.0, 2026-11-21" in refused.value.happened

"""backup and restore: what was there is there again, and answers as before."""

from __future__ import annotations

import json
import stat
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ingestion.curation import merging, undoing
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Collection,
    CollectionGrant,
    Community,
    Document,
    DocumentState,
    Entity,
    HistoryEvent,
    Relationship,
    SummaryNode,
    WalkSnapshot,
)
from ingestion.pipeline import inline
from ingestion.resolution.keys import entity_id, relationship_id
from kb_project.backup.tables import LEASES, contents
from tests import backups, rows
from tests.api import address, client
from tests.backups import answers, command, drifts, fresh_database, make_harbour
from tests.ingestion.jobs import add, document_of
from tests.ingestion.once import Kept
from workspaces import access
from workspaces.language_models import services as language_models
from workspaces.models import Group, GroupMember, Membership, ModelSettings, User, Workspace
from workspaces.secrets import unseal

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("media", "fake_embedder"),
]


@pytest.fixture(scope="module")
def cast_once(rows_of_the_module: None, tmp_path_factory: Any) -> Kept[rows.Cast]:
    return Kept(tmp_path_factory.mktemp("files"), make_harbour)


@pytest.fixture
def cast(cast_once: Kept[rows.Cast], media: Path) -> rows.Cast:
    return cast_once.for_a_test(media)


def lines(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of every table, without what is another's elsewhere: numbers of people, leases."""
    people = LEASES | {"created_by_id", *(name for t in contents().tenants for name in t.people)}
    found = {}
    for name, content in backups.unpacked(path).items():
        if name.endswith(".ndjson"):
            parsed = [json.loads(line) for line in content.splitlines()]
            kept = [{k: v for k, v in row.items() if k not in people} for row in parsed]
            found[name] = sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))
    return found


def files(path: Path) -> dict[str, bytes]:
    return {k: v for k, v in backups.unpacked(path).items() if k.startswith("files/")}


def test_a_whole_installation_is_there_again_in_a_fresh_database(
    cast: rows.Cast, tmp_path: Path, settings: Any
):
    before = answers(cast.workspace, cast.alice)
    made = command("backup", tmp_path / "all.zip")

    with fresh_database():
        settings.MEDIA_ROOT = str(tmp_path / "other media")
        done = command("restore", tmp_path / "all.zip")
        backups.write(tmp_path / "again.zip")
        workspace, alice = Workspace.objects.get(), User.objects.get(name="Alice")

        assert done["workspaces"] == {"harbour": str(cast.workspace.pk)}
        assert (done["rows"], done["files"]) == (made["rows"], made["files"]) == (made["rows"], 3)
        assert alice.check_password(rows.PASSWORD)
        assert answers(workspace, alice) == before
        assert drifts(workspace) == []
    assert files(tmp_path / "again.zip") == files(tmp_path / "all.zip")
    there, here = lines(tmp_path / "again.zip"), lines(tmp_path / "all.zip")
    assert there.keys() == here.keys()
    for name in here:
        if name.endswith("workspaces_auditevent.ndjson"):
            # The restore itself is recorded.
            *restored, last = sorted(there[name], key=lambda row: row["created_at"])
            assert (restored, last["action"]) == (here[name], "workspace_read_back")
        elif name.endswith("ingestion_corpusversion.ndjson"):
            # Restoring looks whether a summary tree is missing, and notes that none is.
            [one], [other] = there[name], here[name]
            assert one | {"trees_seen": 0} == other | {"trees_seen": 0}
        elif name != "people.ndjson":
            assert there[name] == here[name], name


def test_one_workspace_goes_into_another_installation(cast: rows.Cast, tmp_path: Path):
    before = answers(cast.workspace, cast.alice)
    rows.make_workspace("Elsewhere", owner=rows.make_user("Dora"))
    command("backup", tmp_path / "one.zip", "--workspace", "harbour")

    with fresh_database():
        bob = rows.make_user("Bob")
        done = command("restore", tmp_path / "one.zip")
        workspace, alice = Workspace.objects.get(), User.objects.get(name="Alice")

        assert done["people_made"] == ["alice@example.com"]
        assert not alice.has_usable_password()
        assert answers(workspace, alice) == before
        assert drifts(workspace) == []
        with access.in_workspace(workspace.pk):
            people = Membership.objects.in_workspace(workspace).order_by("user__name")
            assert [one.user for one in people] == [alice, bob]
        assert not User.objects.filter(name__in=["Dora", "Charlie"]).exists()


def test_a_second_one_beside_the_first_lives_a_life_of_its_own(cast: rows.Cast, tmp_path: Path):
    before = answers(cast.workspace, cast.alice)
    backups.write(tmp_path / "one.zip", "harbour")

    command("restore", tmp_path / "one.zip", "--as-new", "--into", "second")

    first, second = Workspace.objects.get(slug="harbour"), Workspace.objects.get(slug="second")
    assert answers(second, cast.alice) == before
    assert_ids_follow(second)
    later = add(second, "late.txt", "Ada Lind sells the boat of Bo Strand. Carl Moe buys it.")
    inline.drain(second.pk)
    assert document_of(later).state == DocumentState.READY
    assert_ids_follow(second)
    assert_all_is_well(second)
    assert keys(first) == keys(second) - {"carl moe"}
    assert_all_is_well(first)


def test_what_was_joined_in_one_is_taken_back_in_the_other(cast: rows.Cast, tmp_path: Path):
    before = keys(cast.workspace)
    event = join(cast.workspace, "ada lind", "bo strand")
    inline.drain(cast.workspace.pk)
    backups.write(tmp_path / "one.zip", "harbour")
    command("restore", tmp_path / "one.zip", "--as-new", "--into", "second")
    second = Workspace.objects.get(slug="second")
    assert keys(second) == keys(cast.workspace) == before - {"bo strand"}

    with access.in_workspace(second.pk):
        undoing.event_undo(change=ChangeContext(second, cast.alice), event=event.pk)
    inline.drain(second.pk)

    assert keys(second) == before
    assert_ids_follow(second)
    assert_all_is_well(second)
    assert "bo strand" not in keys(cast.workspace)


def test_names_can_be_joined_in_a_second_one(cast: rows.Cast, tmp_path: Path):
    backups.write(tmp_path / "one.zip", "harbour")
    command("restore", tmp_path / "one.zip", "--as-new", "--into", "second")
    second = Workspace.objects.get(slug="second")

    join(second, "ada lind", "bo strand")
    inline.drain(second.pk)

    assert keys(second) == keys(cast.workspace) - {"bo strand"}
    assert_ids_follow(second)
    assert_all_is_well(second)


def test_a_workspace_is_backed_up_by_its_former_address_which_no_other_gets(tmp_path: Path):
    workspace = rows.make_workspace("Harbour")
    before = backups.write(tmp_path / "before.zip", "harbour")
    Workspace.objects.update(slug="port", former_slugs=["harbour"])

    done = command("backup", tmp_path / "after.zip", "--workspace", "harbour")
    with pytest.raises(CommandError, match="or had it before"):
        command("restore", before, "--as-new")

    assert done["workspaces"] == ["port"]
    assert Workspace.objects.get() == workspace


def test_who_is_in_both_finds_each_token_grant_and_member_once(tmp_path: Path):
    first = rows.make_cast().workspace
    alice = User.objects.get(name="Alice")
    token, _ = rows.make_token(first, alice)
    with access.in_workspace(first.pk):
        member = Membership.objects.in_workspace(first).get(user=alice)
        court = Collection.objects.create(workspace=first, name="Court", is_restricted=True)
        group = Group.objects.create(workspace=first, name="Lawyers")
        GroupMember.objects.create(workspace=first, group=group, membership=member)
        CollectionGrant.objects.create(workspace=first, collection=court, membership=member)
    backups.write(tmp_path / "one.zip", "harbour")

    command("restore", tmp_path / "one.zip", "--as-new", "--into", "second")

    tokens = found_at(client(alice), first, "tokens/")["results"]
    assert [one["id"] for one in tokens] == [str(token.pk)]
    for workspace in (first, Workspace.objects.get(slug="second")):
        read = partial(found_at, client(alice), workspace)
        granted = read(f"collections/{court.pk}/access/")["grants"]
        assert [one["subject"] for one in granted] == [str(member.pk)]
        [lawyers] = read("groups/")
        assert [one["id"] for one in lawyers["members"]] == [str(member.pk)]


def found_at(program: Any, workspace: Workspace, path: str) -> Any:
    return program.get(address(workspace, path)).json()


def join(workspace: Workspace, kept: str, other: str) -> HistoryEvent:
    with access.in_workspace(workspace.pk):
        known = Entity.objects.in_workspace(workspace)
        change = ChangeContext(workspace, User.objects.get(name="Alice"))
        return merging.entities_merge(
            change=change, kept=known.get(key=kept), others=[known.get(key=other)]
        )


def keys(workspace: Workspace) -> set[str]:
    with access.in_workspace(workspace.pk):
        return set(Entity.objects.in_workspace(workspace).values_list("key", flat=True))


def assert_ids_follow(workspace: Workspace) -> None:
    """Every id that follows from names and the workspace is the one that follows."""
    with access.in_workspace(workspace.pk):
        known = {one.pk: one for one in Entity.objects.in_workspace(workspace)}
        links = list(Relationship.objects.in_workspace(workspace))
    assert known
    assert links
    for one in known.values():
        assert one.pk == entity_id(workspace.pk, one.key, one.sense)
    for link in links:
        names = known[link.source_id].key, known[link.target_id].key
        assert link.pk == relationship_id(workspace.pk, *names)


def assert_all_is_well(workspace: Workspace) -> None:
    assert drifts(workspace) == []
    with access.in_workspace(workspace.pk):
        assert WalkSnapshot.objects.in_workspace(workspace).count() == 1
        assert Community.objects.in_workspace(workspace).exists()
        assert SummaryNode.objects.in_workspace(workspace).exists()
        states = Document.objects.in_workspace(workspace).values_list("state", flat=True)
        assert set(states) == {DocumentState.READY}


def test_a_deleted_workspace_comes_back_as_it_was(cast: rows.Cast, tmp_path: Path, settings: Any):
    backups.write(tmp_path / "one.zip", "harbour")

    with fresh_database():
        rows.make_workspace("Elsewhere")
        backups.restore(tmp_path / "one.zip")
        backups.write(tmp_path / "again.zip", "harbour")

    assert lines(tmp_path / "again.zip") == lines(tmp_path / "one.zip") | {
        "people.ndjson": lines(tmp_path / "again.zip")["people.ndjson"]
    }


def test_keys_are_left_out_unless_asked_for(cast: rows.Cast, tmp_path: Path):
    said = command("backup", tmp_path / "all.zip")
    kept = command("backup", tmp_path / "kept.zip", "--with-secrets")

    assert not said["has_secrets"]
    assert kept["has_secrets"]
    for name, has_key in (("all.zip", False), ("kept.zip", True)):
        with fresh_database():
            done = command("restore", tmp_path / name)
            workspace = Workspace.objects.get()
            with access.in_workspace(workspace.pk):
                row = ModelSettings.objects.in_workspace(workspace).get()
            assert done["lacks_keys"] is not has_key
            assert row.rerank_endpoint == "http://localhost:1/v1"
            assert unseal(row.rerank_sealed_key, workspace.pk) == (backups.KEY if has_key else "")
            assert row.rerank_key_hint == ("cdef" if has_key else "")


def test_a_key_does_not_go_into_another_workspace(cast: rows.Cast, tmp_path: Path):
    backups.write(tmp_path / "one.zip", "harbour", with_secrets=True)

    done = command("restore", tmp_path / "one.zip", "--as-new", "--into", "second")

    second = Workspace.objects.get(slug="second")
    assert done["lacks_keys"]
    with access.in_workspace(second.pk):
        row = ModelSettings.objects.in_workspace(second).get()
    assert (bytes(row.rerank_sealed_key), row.rerank_key_hint) == (b"", "")


def test_a_workspace_from_elsewhere_may_not_use_the_installations_model(
    cast: rows.Cast, tmp_path: Path
):
    language_models.installation_model_allow(workspace=cast.workspace, is_allowed=True)
    backups.write(tmp_path / "one.zip", "harbour")
    backups.write(tmp_path / "all.zip")
    allowed = []
    for name in ("one.zip", "all.zip"):
        with fresh_database():
            command("restore", tmp_path / name)
            workspace = Workspace.objects.get()
            with access.in_workspace(workspace.pk):
                row = ModelSettings.objects.in_workspace(workspace).get()
            allowed.append(row.may_use_installation)

    assert allowed == [False, True]


def test_nothing_of_other_workspaces_and_no_password_is_in_one_of_them(
    cast: rows.Cast, tmp_path: Path
):
    other = make_harbour("Elsewhere")

    backups.write(tmp_path / "one.zip", "harbour")

    members = backups.unpacked(tmp_path / "one.zip")
    people = [json.loads(line) for line in members["people.ndjson"].splitlines()]
    assert not any(str(other.workspace.pk) in name for name in members)
    assert {person["name"] for person in people} == {"Alice", "Bob"}
    assert all(person.keys() == {"id", "email", "name"} for person in people)
    assert not any(name.startswith("installation/") for name in members)


def test_a_file_that_went_away_is_noted(cast: rows.Cast, tmp_path: Path, media: Path):
    gone = next(path for path in media.rglob("*") if path.is_file())
    gone.unlink()

    made = command("backup", tmp_path / "all.zip")

    assert (made["files"], made["missing"]) == (2, 1)
    with fresh_database():
        done = command("restore", tmp_path / "all.zip")
        assert (done["files"], done["missing"]) == (2, 1)


def test_only_its_owner_can_read_the_file(tmp_path: Path):
    path = backups.write(tmp_path / "all.zip")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_people_read_sentences(cast: rows.Cast, tmp_path: Path):
    path, out = str(tmp_path / "one.zip"), StringIO()

    call_command("backup", path, "--workspace", "harbour", stdout=out)
    call_command("restore", path, "--check", stdout=out)
    with fresh_database():
        call_command("restore", path, stdout=out)

    said = out.getvalue()
    assert "The workspace harbour is in" in said
    assert "Stored keys of model endpoints are not included" in said
    assert "The backup is intact: workspace," in said
    assert "Nothing was written." in said
    assert "Restored harbour:" in said
    assert "alice@example.com, bob@example.com" in said
    assert "enter those that your models need on the Models page" in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--workspace", "nowhere"), "There is no workspace 'nowhere'."),
        ((), "already exists"),
    ],
)
def test_a_backup_that_cannot_be_made_leaves_nothing(tmp_path: Path, words: Any, sentence: str):
    path = tmp_path / "all.zip"
    if not words:
        path.write_text("Mine.")

    with pytest.raises(CommandError, match=sentence):
        call_command("backup", str(path), *words)

    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["all.zip"][: not words]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    with pytest.raises(CommandError, match=r"nowhere/all.zip' cannot be written: No such file"):
        call_command("backup", str(tmp_path / "nowhere" / "all.zip"))


@pytest.mark.parametrize("moment", ["files", "tables"])
def test_a_backup_that_is_stopped_leaves_nothing(cast: rows.Cast, tmp_path: Path, moment: str):
    def report(what: str, _done: int, _total: int) -> None:
        if what == moment:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backups.writing.write(tmp_path / "all.zip", with_secrets=False, report=report)

    assert [one for one in tmp_path.iterdir() if one.is_file()] == []

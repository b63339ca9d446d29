"""Settings from the environment: typed, from files where they are secrets, never silently wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kb_project import env
from kb_project.env import EnvError


@pytest.fixture(autouse=True)
def env_file(tmp_path: Path, monkeypatch) -> Path:
    path = tmp_path / ".env"
    monkeypatch.setattr(env, "ENV_FILE", path)
    monkeypatch.setattr(env, "_cache", {})
    return path


def test_a_setting_that_is_absent_has_its_default():
    assert env.env_str("KB_TRY") == ""
    assert env.env_str("KB_TRY", "there") == "there"
    assert env.env_str("KB_TRY", None) is None
    assert env.env_int("KB_TRY", 3) == 3
    assert env.env_bool("KB_TRY", default=True) is True
    assert env.env_list("KB_TRY", ("a", "b")) == ["a", "b"]
    assert env.env_url("KB_TRY") is None


def test_an_empty_setting_is_an_absent_one(monkeypatch):
    monkeypatch.setenv("KB_TRY", " ")

    assert env.env_int("KB_TRY", 3) == 3
    assert env.env_str("KB_TRY", "there") == "there"


@pytest.mark.parametrize(
    ("word", "value"), [("1", True), ("Yes", True), ("on", True), ("FALSE", False), ("no", False)]
)
def test_yes_and_no_may_be_said_in_several_ways(monkeypatch, word, value):
    monkeypatch.setenv("KB_TRY", word)

    assert env.env_bool("KB_TRY", default=not value) is value


@pytest.mark.parametrize(
    "read",
    [
        lambda: env.env_bool("KB_TRY", default=False),
        lambda: env.env_int("KB_TRY", 1),
        lambda: env.env_url("KB_TRY"),
        lambda: env.env_web_address("KB_TRY"),
    ],
)
def test_a_value_that_cannot_be_read_names_the_variable_and_hides_the_value(monkeypatch, read):
    monkeypatch.setenv("KB_TRY", "maybe-a-secret")

    with pytest.raises(EnvError) as caught:
        read()

    assert str(caught.value).startswith("KB_TRY: ")
    assert "secret" not in str(caught.value)


def test_numbers_outside_their_range_are_refused(monkeypatch):
    monkeypatch.setenv("KB_TRY", "11")

    with pytest.raises(EnvError, match="KB_TRY: must be at most 10"):
        env.env_int("KB_TRY", 1, maximum=10)
    with pytest.raises(EnvError, match="KB_TRY: must be at least 12"):
        env.env_int("KB_TRY", 1, minimum=12)


def test_a_secret_may_lie_in_a_file(monkeypatch, tmp_path):
    (tmp_path / "key").write_text("s3cret\n")
    monkeypatch.setenv("KB_TRY_FILE", str(tmp_path / "key"))

    assert env.env_str("KB_TRY") == "s3cret"


def test_a_secrets_file_that_is_missing_is_named_by_its_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("KB_TRY_FILE", str(tmp_path / "missing"))

    with pytest.raises(EnvError, match="KB_TRY_FILE: the file it names cannot be read"):
        env.env_str("KB_TRY")


def test_the_env_file_is_read_and_the_environment_wins(monkeypatch, env_file):
    env_file.write_text("# a comment\nexport KB_TRY='from # file' \nKB_OTHER=5 # five\n\n")

    assert env.env_str("KB_TRY") == "from # file"
    assert env.env_int("KB_OTHER", 0) == 5
    monkeypatch.setenv("KB_TRY", "from environment")
    assert env.env_str("KB_TRY") == "from environment"


def test_a_broken_line_of_the_env_file_is_numbered(env_file):
    env_file.write_text("GOOD=1\nno value here\n")

    with pytest.raises(EnvError, match="line 2"):
        env.env_str("KB_TRY")


@given(st.text(st.characters(exclude_characters="'\"#\\", exclude_categories=["C", "Z"])))
def test_every_quoted_word_survives_the_env_file(tmp_path_factory, word):
    path = tmp_path_factory.mktemp("env") / ".env"
    path.write_text(f'KB_TRY="{word}"\n', encoding="utf-8")

    assert env.read_env_file(path) == {"KB_TRY": word}


def test_paths_start_at_the_checkout(monkeypatch, env_file):
    monkeypatch.setenv("KB_TRY", "data/here")
    assert env.env_path("KB_TRY", Path("/x")) == env_file.parent / "data/here"

    monkeypatch.setenv("KB_TRY", "/elsewhere")
    assert env.env_path("KB_TRY", Path("/x")) == Path("/elsewhere")


def test_a_database_address_is_taken_apart():
    url = env.parse_database_url("postgresql://us%40er:p%3Aw@db.test:5433/kb?sslmode=require")

    assert url.conninfo() == {
        "dbname": "kb",
        "user": "us@er",
        "password": "p:w",
        "host": "db.test",
        "port": "5433",
        "sslmode": "require",
    }
    assert "p:w" not in repr(url)


def test_a_database_address_may_name_a_socket():
    url = env.parse_database_url("postgres://kb@/kb?host=/run/postgresql")

    assert url.conninfo() == {"dbname": "kb", "user": "kb", "host": "/run/postgresql"}


def test_a_web_address_loses_its_last_slash(monkeypatch):
    monkeypatch.setenv("KB_TRY", "https://models.test/v1/")

    assert env.env_web_address("KB_TRY") == "https://models.test/v1"


def test_children_get_changes_and_servers_no_postgres_variables(monkeypatch):
    monkeypatch.setenv("PGHOST", "elsewhere.test")

    assert env.child_environment(KB_TRY="1")["KB_TRY"] == "1"
    assert "PGHOST" not in env.psql_environment()

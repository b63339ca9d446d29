"""The model beside the product: what is refused before anything starts, and what parts are told."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from kb_project.errors import ConflictError, InputError, NotFoundError, UnavailableError
from kb_project.management.commands import run
from kb_project.supervisor import local_model as rules
from kb_project.supervisor.local_model import LocalModel, local_model
from kb_project.supervisor.supervisor import Part


@pytest.fixture
def port() -> int:
    with socket.socket() as found:
        found.bind((rules.HOST, 0))
        return found.getsockname()[1]


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    file = tmp_path / "Small-1B.Q4.gguf"
    file.write_bytes(rules.MAGIC + bytes(100))
    return file


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The optional packages as they lie in an environment, without their content."""
    for name in (rules.SERVER, rules.WEIGHTS):
        (tmp_path / "site" / name).mkdir(parents=True)
        (tmp_path / "site" / name / "__init__.py").write_text("raise ImportError('not imported')")
    monkeypatch.setattr("sys.path", [str(tmp_path / "site")])
    for name in ("MODEL_ENDPOINT", "MODEL_WORK", "MODEL_CONTEXT_WINDOW", "MODEL_CONCURRENCY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "site"


def test_a_file_is_served_under_its_name(model_file, port):
    found = local_model(str(model_file), port)

    assert (found.file, found.name, found.is_packaged) == (model_file, "Small-1B.Q4", False)
    assert found.endpoint == f"http://127.0.0.1:{port}/v1"


def test_without_a_file_the_packaged_model_is_found_and_its_package_never_imported(installed, port):
    weights = installed / rules.WEIGHTS / "Tiny.gguf"
    weights.write_bytes(rules.MAGIC)

    found = local_model("", port)

    assert (found.file, found.is_packaged) == (weights, True)


def test_serving_a_model_alone_says_what_is_missing(installed, model_file):
    with pytest.raises(CommandError, match=r"one.gguf cannot be read: No such file"):
        call_command("servemodel", "/nowhere/one.gguf")

    shutil.rmtree(installed / rules.SERVER)
    with pytest.raises(CommandError, match=r"not installed.*`make run-model` installs"):
        call_command("servemodel", str(model_file))


def test_a_package_without_a_model_says_how_to_install_one(port):
    with pytest.raises(NotFoundError, match="not installed") as caught:
        local_model("", port)
    assert "make run-model" in caught.value.next_step


def test_a_missing_file_is_named(tmp_path, port):
    with pytest.raises(NotFoundError, match=r"none\.gguf cannot be read: No such file"):
        local_model(str(tmp_path / "none.gguf"), port)


def test_a_folder_is_no_model(tmp_path, port):
    with pytest.raises(NotFoundError, match="cannot be read: Is a directory"):
        local_model(str(tmp_path), port)


def test_a_file_of_another_format_is_refused(tmp_path, port):
    other = tmp_path / "model.safetensors"
    other.write_bytes(b"{}")

    with pytest.raises(InputError, match="is not a GGUF file"):
        local_model(str(other), port)


def test_a_taken_port_is_refused_with_the_setting_that_changes_it(model_file):
    with socket.socket() as taken:
        taken.bind((rules.HOST, 0))
        taken.listen()
        with pytest.raises(UnavailableError, match="cannot listen on port") as caught:
            local_model(str(model_file), taken.getsockname()[1])
    assert "MODEL_PORT=" in caught.value.next_step


def test_a_model_that_the_settings_name_is_not_replaced(monkeypatch, model_file, port):
    monkeypatch.setenv("MODEL_ENDPOINT", "https://models.example.org/v1")

    with pytest.raises(ConflictError, match=r"models\.example\.org"):
        local_model(str(model_file), port)


def test_every_part_is_told_where_the_model_is_and_that_it_only_writes_answers():
    model = LocalModel(Path("/models/one.gguf"), 8081, is_packaged=False)
    web = Part("web", ("serve",), environment={"DATABASE_POOL": "true"})

    serving, told = run._with_model([web], model)

    assert serving.command[-4:] == ("servemodel", "/models/one.gguf", "--port", "8081")
    assert told.environment == {
        "DATABASE_POOL": "true",
        "MODEL_ENDPOINT": "http://127.0.0.1:8081/v1",
        "MODEL_NAME": "one",
        "MODEL_KEY": model.key,
        "MODEL_WORK": "answers",
        "MODEL_CONTEXT_WINDOW": "4096",
        "MODEL_CONCURRENCY": "1",
    }
    assert serving.environment["MODEL_KEY"] == told.environment["MODEL_KEY"]
    assert model.key not in repr(model)


def test_what_a_person_sets_about_the_model_is_kept(monkeypatch):
    monkeypatch.setenv("MODEL_WORK", "all")
    monkeypatch.setenv("MODEL_CONTEXT_WINDOW", "16000")

    told = LocalModel(Path("/models/one.gguf"), 8081, is_packaged=False).environment()

    assert (told["MODEL_WORK"], told["MODEL_CONTEXT_WINDOW"]) == ("all", "16000")

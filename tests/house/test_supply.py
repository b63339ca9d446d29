"""What is installed is what was pinned: the whole way, with a toy package and no network."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kb_project.env import child_environment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]
WHEEL = "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def make_wheel(folder: Path, *, version: str, code: str) -> None:
    """Write a wheel with one module; the same arguments give the same bytes."""
    info = f"toy-{version}.dist-info"
    members = {
        "toy.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: toy\nVersion: {version}\n",
        f"{info}/WHEEL": WHEEL,
        f"{info}/RECORD": f"toy.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n",
    }
    with zipfile.ZipFile(folder / f"toy-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in members.items():
            wheel.writestr(zipfile.ZipInfo(name), text)


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder


@pytest.fixture
def checkout(tmp_path, environment) -> Iterator[Path]:
    """A checkout that requires one package, which lies beside it."""
    folder = tmp_path / "checkout"
    (folder / ".ci").mkdir(parents=True)
    for script in ("venv", "lock.py"):
        shutil.copy2(ROOT / ".ci" / script, folder / ".ci" / script)
    (folder / "requirements.txt").write_text("toy==1.0  # to be installed\n")
    (folder / "index").mkdir()
    make_wheel(folder / "index", version="1.0", code="KIND = 'pinned'\n")
    (folder / ".venv").symlink_to(environment)
    yield folder
    uninstall = [environment / "bin" / "python", "-m", "pip", "uninstall", "-q", "-y", "toy"]
    subprocess.run(uninstall, check=True)
    (environment / ".installed").unlink(missing_ok=True)


@pytest.fixture
def run(checkout) -> Run:
    environment = child_environment(
        PIP_CONFIG_FILE="/dev/null",
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(checkout / "index"),
        PIP_EXTRA_INDEX_URL="",
    )

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=checkout, env=environment, capture_output=True, text=True, check=False
        )

    return run


def locked(run: Run) -> None:
    done = run(".venv/bin/python", ".ci/lock.py")
    assert done.returncode == 0, done.stderr


def test_a_file_that_was_tampered_with_is_refused_and_the_pinned_one_is_installed(checkout, run):
    locked(run)
    make_wheel(checkout / "index", version="1.0", code="KIND = 'hostile'\n")

    refused = run(".ci/venv", "requirements.txt")

    assert refused.returncode != 0
    assert "a file is not the\nconcordance: one that was pinned" in refused.stderr
    assert "toy==1.0" in refused.stderr
    assert run(".venv/bin/python", "-c", "import toy").returncode != 0

    make_wheel(checkout / "index", version="1.0", code="KIND = 'pinned'\n")
    assert run(".ci/venv", "requirements.txt").returncode == 0
    said = run(".venv/bin/python", "-c", "import toy; print(toy.KIND)")
    assert said.stdout == "pinned\n"


def test_a_new_version_without_hashes_stops_the_installation(checkout, run):
    locked(run)
    (checkout / "requirements.txt").write_text("toy==2.0  # newer\n")

    refused = run(".ci/venv", "requirements.txt")

    assert refused.returncode != 0
    assert "requirements.txt: toy==2.0 has no hashes" in refused.stderr
    assert "make lock" in refused.stderr

    make_wheel(checkout / "index", version="2.0", code="KIND = 'newer'\n")
    locked(run)
    assert run(".ci/venv", "requirements.txt").returncode == 0


def test_a_package_that_is_no_longer_required_is_found(checkout, run):
    locked(run)
    (checkout / "requirements.txt").write_text("")

    found = run(".venv/bin/python", ".ci/lock.py", "--check")

    assert found.returncode == 1
    assert "toy is no longer required" in found.stderr


def test_a_version_that_no_index_has_is_no_lock(checkout, run):
    (checkout / "requirements.txt").write_text("toy==3.0  # not there\n")

    done = run(".venv/bin/python", ".ci/lock.py")

    assert done.returncode != 0
    assert "no index has a file of toy==3.0" in done.stderr

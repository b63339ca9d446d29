"""The commands of the README: what they promise, and how they begin."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHECKS = (
    ".ci/lock.py --check",
    "ruff format --check",
    "ruff check",
    "lint-imports",
    "mypy",
    "basedpyright",
    "djlint --lint --check",
    "manage.py check",
    "makemigrations --check --dry-run",
)


def made(*words: str) -> str:
    return subprocess.run(
        ["make", "--no-print-directory", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_help_lists_every_command():
    listed = made("help")

    for command in (
        "run",
        "run-model",
        "test",
        "test-model",
        "check",
        "audit",
        "lock",
        "bench",
        "reset",
    ):
        assert f"\n{command} " in f"\n{listed}"


def test_check_runs_every_check():
    planned = made("--dry-run", "check")

    for check in CHECKS:
        assert check in planned


def test_the_real_model_is_left_alone_unless_asked_for():
    assert "-m model tests/model" in made("--dry-run", "test-model")
    assert "-m 'not model'" in (ROOT / "pyproject.toml").read_text()


def test_a_second_install_does_nothing_and_takes_no_time():
    assert made("install") == ""


def test_the_pipeline_calls_the_two_commands_and_demands_a_browser():
    text = (ROOT / ".ci" / "run").read_text()

    assert "set -euo pipefail" in text
    assert "\nmake check\n" in text
    assert "\nmake test " in text
    assert "CONCORDANCE_REQUIRE_BROWSER=1" in text


def test_scripts_can_be_executed_and_are_valid():
    for script in [path for path in (ROOT / ".ci").iterdir() if path.is_file()]:
        assert os.access(script, os.X_OK)
        if script.suffix == ".py":
            compile(script.read_text(), script, "exec")
        else:
            subprocess.run(["bash", "-n", str(script)], check=True)


def test_data_is_not_deleted_without_being_asked_for():
    refused = subprocess.run(
        ["make", "reset"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert refused.returncode != 0
    assert "YES=1" in refused.stdout

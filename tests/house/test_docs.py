"""The documents say what the code does: files, commands and settings that they name exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class

from kb_project.llm.ports import Role
from retrieval.evaluation import metrics
from retrieval.models import AnswerState
from retrieval.search.modes import ANSWER_MODES
from retrieval.search.reporting import EventKind

ROOT: Final = Path(settings.BASE_DIR)
DOCS: Final = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
NAMES: Final = [path.relative_to(ROOT).as_posix() for path in DOCS]
FOLDERS: Final = (
    "kb_project|workspaces|ingestion|retrieval|templates|static|tests|benchmarks|docs|var"
)
PLACE: Final = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")
LINK: Final = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)")
HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)
COMMAND: Final = re.compile(r"manage\.py (\w+)((?:[^\n`]|\\\n)*)")
OPTION: Final = re.compile(r"(?<=\s)--[a-z][\w-]*")
CODES_OF_NOTES: Final = re.compile(r"(?:\.note|Note|NOTE: Final =)\s*\(\s*\"([a-z_]+)\"")
ELSEWHERE: Final = {"snapshot_renewed", "snapshot_outdated"}
"""Codes of errors that are told as notes."""
NOT_KEPT: Final = {"var"}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def anchor_of(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def options_of(command: str) -> set[str]:
    loaded = load_command_class(get_commands()[command], command)
    parser = loaded.create_parser("manage.py", command)
    return {option for action in parser._actions for option in action.option_strings}


@pytest.mark.parametrize("name", NAMES)
def test_every_file_that_is_named_exists(name: str):
    named = {place.rstrip(".") for place in PLACE.findall(text_of(name))}

    missing = {
        place
        for place in named
        if place.split("/")[0] not in NOT_KEPT
        and "<" not in place
        and not (ROOT / place).exists()
        and not (ROOT / f"{place}.py").exists()
    }
    assert missing == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str):
    folder = (ROOT / name).parent

    for target, anchor in LINK.findall(text_of(name)):
        path = folder / target if target else ROOT / name
        assert path.exists(), target
        if anchor:
            headings = HEADING.findall(path.read_text(encoding="utf-8"))
            assert anchor in map(anchor_of, headings), f"{target}#{anchor}"


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_the_options_it_is_shown_with(name: str):
    for command, rest in COMMAND.findall(text_of(name)):
        shown = set(OPTION.findall(rest.split("#")[0]))

        assert command in get_commands(), command
        assert shown <= options_of(command), f"{command} {shown - options_of(command)}"


def test_every_mode_is_described():
    told = text_of("docs/retrieval.md")

    assert [
        mode.name
        for mode in ANSWER_MODES.values()
        if f"| `{mode.name}` | {mode.label} |" not in told
    ] == []


def test_every_event_and_state_is_described():
    told = text_of("docs/retrieval.md")

    assert [one.value for one in (*EventKind, *AnswerState) if f"`{one.value}`" not in told] == []


def test_every_note_is_explained():
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "retrieval").rglob("*.py"))
    codes = {code for source in sources for code in CODES_OF_NOTES.findall(source)} | ELSEWHERE
    told = text_of("docs/retrieval.md")

    assert len(codes) > 15
    assert sorted(code for code in codes if f"`{code}`" not in told) == []


def test_every_metric_of_answers_is_explained():
    told = text_of("docs/evaluation.md").lower()

    missing = [
        name
        for name in metrics.METRICS
        if name.replace("noise_", "noise, ").replace("self_", "self-").replace("_", " ") not in told
    ]
    assert missing == []


def test_every_role_of_a_model_is_described():
    told = text_of("docs/models.md")

    assert [role.value for role in Role if f"`{role.value}`" not in told] == []


def test_every_setting_in_the_readme_is_in_the_example():
    rows = re.findall(r"^\| (`[A-Z_`, ]+`) \|", text_of("README.md"), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"[A-Z_]{3,}", row)}

    assert {"PORT", "CONCORDANCE_ANSWERERS"} <= named
    assert sorted(name for name in named if f"#{name}=" not in text_of(".env.example")) == []

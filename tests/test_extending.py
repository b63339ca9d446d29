"""What a newcomer adds, added for real to a copy of the source: a parser, and a search mode.

Each takes as few files as CONTRIBUTING says, since everything else is derived from them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("kb_project", "workspaces", "ingestion", "retrieval")
PARSER = """
from __future__ import annotations

from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import ParsedDocument, Source


def read(source: Source) -> ParsedDocument:
    builder = TextBuilder(source)
    builder.paragraph("A toy in a box.")
    return builder.build(parser="toy")
"""
MODE = """
from __future__ import annotations

from retrieval.search.query import Query


def search(query: Query) -> list[object]:
    return []
"""
READ_A_TOY = """
import io, json, sys, zipfile
from pathlib import Path
import django
django.setup()
from ingestion.parsers import Limits, OpenFile, detect, parse
from ingestion.parsers.refusals import SUPPORTED
from ingestion.templatetags.documents import format_icon, format_label, format_list

path = Path(sys.argv[1])
with zipfile.ZipFile(path, "w") as file:
    file.writestr("toy/box.txt", "a box")
with OpenFile.at(path) as file:
    kind = detect(file, name="box.toy")
text = parse(path, name="box.toy", limits=Limits()).text
said = ["Toys" in SUPPORTED, "Toys" in format_list(), format_icon(kind), format_label(kind)]
print(json.dumps([kind, text, *said]))
"""
LIST_MODES = """
import json
import django
django.setup()
from retrieval.conversations.presenters.ask_box import mode_groups
from retrieval.conversations.forms import wanted_of
from retrieval.search.modes import MODES, mode_named

shown = {group.label: [mode.name for mode in group.modes] for group in mode_groups()}
print(json.dumps([mode_named("toy").label, shown["Find passages"]]))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The source as it stands, to be changed."""
    for name in PACKAGES:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def insert(path: Path, before: str, lines: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, f"{lines}{before}"), encoding="utf-8")


def run(copy: Path, program: str, *words: str) -> list[object]:
    command = [sys.executable, "-c", program, *words]
    environment = {"DJANGO_SETTINGS_MODULE": "kb_project.settings", "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    said: list[object] = json.loads(ran.stdout.splitlines()[-1])
    return said


def test_a_parser_is_a_module_and_a_row(copy: Path):
    parsers = copy / "ingestion" / "parsers"
    (parsers / "toy.py").write_text(PARSER, encoding="utf-8")
    row = '    "text/x-toy": Format("toy", "Toy", "Toys", (".toy",), "box", "toy/box.txt"),\n'
    insert(parsers / "formats.py", "    PDF: Format(", row)

    told = run(copy, READ_A_TOY, str(copy / "box.toy"))

    assert told == ["text/x-toy", "A toy in a box.", True, True, "box", "Toy"]


def test_a_search_mode_is_a_module_and_a_row(copy: Path):
    search = copy / "retrieval" / "search"
    (search / "toy.py").write_text(MODE, encoding="utf-8")
    modes = search / "modes.py"
    insert(modes, "    traverse,\n    tree,\n", "    toy,\n")
    row = '        Mode("toy", "Toy", PASSAGES, "Finds nothing.", ByRows(toy.search)),\n'
    insert(modes, '        Mode(\n            "lexical",', row)

    label, shown = run(copy, LIST_MODES)

    assert label == "Toy"
    assert "toy" in shown  # type: ignore[operator]  # a list of names

"""The demo documents open, are described, and hold the answers their questions claim."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ingestion.parsers.document import ParsedDocument
from ingestion.parsers.sandbox import ParserSandbox

DEMO = Path(__file__).resolve().parents[3] / "ingestion" / "demo"
FILES = sorted((DEMO / "documents").iterdir())
QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in (DEMO / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
KINDS = {"single", "multihop", "overview", "chinese", "unanswerable"}
WITHOUT_HEADINGS = {".txt", ".csv"}


@pytest.fixture(scope="module")
def parsed() -> dict[str, ParsedDocument]:
    with ParserSandbox() as sandbox:
        return {path.name: sandbox.parse(path, name=path.name) for path in FILES}


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def asked(kind: str) -> list[dict[str, Any]]:
    return [question for question in QUESTIONS if question["kind"] == kind]


def test_the_readme_lists_every_document_and_nothing_else():
    readme = (DEMO / "README.md").read_text(encoding="utf-8")

    listed = {line.split("`")[1] for line in readme.splitlines() if line.startswith("| `")}

    assert listed == {path.name for path in FILES}


def test_the_documents_are_small():
    sizes = {path.name: path.stat().st_size for path in FILES}

    assert max(sizes.values()) < 300_000
    assert sum(sizes.values()) < 1_500_000


def test_the_documents_show_every_format():
    formats = Counter(path.suffix for path in FILES)

    assert set(formats) == {
        *(".md", ".txt", ".html", ".pdf", ".docx"),
        *(".pptx", ".xlsx", ".csv", ".json", ".epub"),
    }


@pytest.mark.parametrize("name", [path.name for path in FILES])
def test_a_document_parses_with_title_and_text_and_no_warning(
    name: str, parsed: dict[str, ParsedDocument]
):
    document = parsed[name]

    assert document.title
    assert len(document.text) > 1000
    assert document.warnings == ()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_structured_document_keeps_its_headings(path: Path, parsed: dict[str, ParsedDocument]):
    headings = parsed[path.name].headings

    assert bool(headings) is (path.suffix not in WITHOUT_HEADINGS)
    assert all(heading.title.strip() for heading in headings)


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix == ".pdf"], ids=lambda p: p.name)
def test_a_pdf_has_several_pages_of_text(path: Path, parsed: dict[str, ParsedDocument]):
    document = parsed[path.name]

    assert len(document.pages) >= 3
    assert all(document.text[page.start : page.end].strip() for page in document.pages)


def test_the_speakers_notes_are_read(parsed: dict[str, ParsedDocument]):
    assert "nobody had talked to him" in parsed["Apprenticeships review 2025.pptx"].text


def test_both_sheets_of_the_budget_are_read(parsed: dict[str, ParsedDocument]):
    titles = [heading.title for heading in parsed["Budget 2022-2026.xlsx"].headings]

    assert titles == ["Budget", "Grants and contracts"]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["question"])
def test_a_question_names_documents_that_exist(question: dict[str, Any]):
    assert question["kind"] in KINDS
    assert question["answer"]
    assert set(question["evidence"]) <= {path.name for path in FILES}
    assert bool(question["evidence"]) is (question["kind"] != "unanswerable")


@pytest.mark.parametrize("question", asked("multihop"), ids=lambda q: q["question"])
def test_a_multihop_question_needs_more_than_one_document(question: dict[str, Any]):
    assert len(question["evidence"]) >= 2


@pytest.mark.parametrize(
    "question", asked("single") + asked("chinese"), ids=lambda question: question["question"]
)
def test_the_answer_stands_in_its_evidence(
    question: dict[str, Any], parsed: dict[str, ParsedDocument]
):
    [name] = question["evidence"]

    assert question["key"] in in_one_line(parsed[name].text)


def test_no_question_is_asked_twice():
    counts = Counter(question["question"] for question in QUESTIONS)

    assert [text for text, count in counts.items() if count > 1] == []


def test_four_questions_start_a_new_workspace():
    starters = [question["kind"] for question in QUESTIONS if question.get("starter")]

    assert Counter(starters) == {"single": 2, "multihop": 1, "overview": 1}


def test_every_part_of_project_lodestar_adds_up(parsed: dict[str, ParsedDocument]):
    register = json.loads((DEMO / "documents/Project register.json").read_text(encoding="utf-8"))

    [lodestar] = [project for project in register["projects"] if project["code"] == "LODE"]

    assert sum(lodestar["funders"].values()) == lodestar["budget_gbp"] == 186_400
    for name in ("Board minutes 2024-03.docx", "A short history of the Trust.md"):
        assert "£186,400" in parsed[name].text


def test_the_date_of_the_relighting_is_disputed(parsed: dict[str, ParsedDocument]):
    log = in_one_line(parsed["Skarrow Light log 2023-2024.txt"].text)
    newsletter = in_one_line(parsed["The Lamp - autumn 2024 newsletter.html"].text)

    assert "relit at 19:22 on 28 September 2024" in log
    assert "relit on Saturday 21 September 2024" in newsletter

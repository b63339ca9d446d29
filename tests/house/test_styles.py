"""A page loads the styles of what it shows and no others, and no style is left without a page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings

ROOT: Final = Path(settings.BASE_DIR)
TEMPLATES: Final = ROOT / "templates"
STYLES: Final = ROOT / "static" / "css"
COMPONENTS: Final = STYLES / "components"
LONGEST: Final = 400

CLASS_ATTRIBUTE: Final = re.compile(r'class="((?:\{[{%].*?[%}]\}|[^"])*)"', re.DOTALL)
IN_A_TAG: Final = re.compile(r"'([^'{}%]*)'")
BUILT: Final = re.compile(r"\{\{.*?\}\}")
TAG: Final = re.compile(r"\{%.*?%\}", re.DOTALL)
PART: Final = re.compile(r'\{%\s*(?:include|extends)\s+"([^"]+)"')
INCLUSION: Final = re.compile(r'inclusion_tag\(\s*"([^"]+)".*?\ndef (\w+)', re.DOTALL)
LOADED: Final = re.compile(r"css/components/(\w+)\.css")

FETCHED: Final = {
    "retrieval/question.html": ["ingestion/document_panel.html"],
    "retrieval/scope_panel.html": ["retrieval/scope_choices.html"],
    "ingestion/document_versions.html": ["ingestion/version_progress.html"],
    "ingestion/document_list.html": [
        "ingestion/upload_estimate.html",
        "ingestion/upload_outcome.html",
    ],
    "workspaces/model_settings.html": ["workspaces/model_test.html"],
    "ingestion/explorer/explorer.html": [
        "ingestion/explorer/entity.html",
        "ingestion/explorer/entity_gone.html",
        "ingestion/explorer/between.html",
        "ingestion/explorer/found.html",
    ],
}
"""What a page asks for later, beside what it is made of."""
BY_SCRIPT: Final = {"source--open", "split--open", "htmx-request"}
"""Classes that only scripts set."""
SHARED_STATES: Final = {"is-running"}
"""Classes that say how a part is, wherever it stands."""


@cache
def text_of(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def tags() -> dict[str, str]:
    modules = ROOT.glob("*/templatetags/*.py")
    found = [pair for path in modules for pair in INCLUSION.findall(path.read_text())]
    return {tag: template for template, tag in found}


def parts_of(name: str, known: set[str] | None = None) -> set[str]:
    """The templates that a page is made of, with those that it asks for later."""
    known = set() if known is None else known
    if name not in known:
        known.add(name)
        text = text_of(name)
        by_tag = [to for tag, to in tags().items() if re.search(rf"\{{%\s*{tag}\b", text)]
        for part in [*PART.findall(text), *by_tag, *FETCHED.get(name, [])]:
            parts_of(part, known)
    return known


def classes_in(text: str) -> set[str]:
    """Classes as they are written; what is filled in later is a star at the end of one."""
    values = CLASS_ATTRIBUTE.findall(text)
    chosen = [word for value in values for word in IN_A_TAG.findall(value)]
    written = [TAG.sub(" ", BUILT.sub("*", value)) for value in values]
    words = {word for value in [*chosen, *written] for word in re.split(r"[\s,]+", value)}
    return {word for word in words if word and not word.startswith("*")}


def styled_in(path: Path) -> set[str]:
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    selectors = [one for one in re.findall(r"([^{}]+)\{", text) if not one.strip().startswith("@")]
    return set(re.findall(r"\.([a-zA-Z_][\w-]*)", " ".join(selectors)))


def matching(written: set[str], styled: set[str]) -> set[str]:
    starts = tuple(one.split("*")[0] for one in written if "*" in one)
    return {one for one in styled if one in written or (starts and one.startswith(starts))}


def loaded_by(page: str) -> set[str]:
    return {name for part in parts_of(page) for name in LOADED.findall(text_of(part))}


ALL: Final = {path.stem: styled_in(path) for path in sorted(COMPONENTS.glob("*.css"))}
EVERYWHERE: Final = set(LOADED.findall(text_of("components/styles.html")))
OF_EVERY_PAGE: Final = set().union(*(ALL[name] for name in EVERYWHERE)) | SHARED_STATES
PAGES: Final = sorted(
    path.relative_to(TEMPLATES).as_posix()
    for path in TEMPLATES.rglob("*.html")
    if "{% extends" in path.read_text(encoding="utf-8")
)


def shown_on(page: str) -> set[str]:
    return set().union(*(classes_in(text_of(part)) for part in parts_of(page)))


def test_no_stylesheet_is_too_long_to_read():
    too_long = [
        path.name
        for path in STYLES.rglob("*.css")
        if len(path.read_text(encoding="utf-8").splitlines()) >= LONGEST
    ]

    assert not too_long


def test_pages_are_looked_at_with_all_that_they_are_made_of():
    parts = parts_of("ingestion/document_detail.html")

    assert {"base.html", "components/styles.html"} <= parts
    assert {"ingestion/life/document_life.html", "ingestion/version_progress.html"} <= parts


def test_classes_are_read_out_of_tags_and_what_is_filled_in_matches_by_its_start():
    text = """<p class="a b--{{ x }} {{ y }} {% if z %}c{% endif %} {{ d|default:'e f' }}">"""

    written = classes_in(text)

    assert written == {"a", "b--*", "c", "e", "f"}
    assert matching(written, {"a", "b--good", "b", "g"}) == {"a", "b--good"}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_the_styles_of_what_it_shows(page: str):
    loaded = loaded_by(page)
    there = OF_EVERY_PAGE.union(*(ALL[name] for name in loaded))
    elsewhere = set().union(*ALL.values()) - there

    assert not matching(shown_on(page), elsewhere)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_no_styles_of_what_it_does_not_show(page: str):
    shown = shown_on(page)

    needless = {
        name
        for name in loaded_by(page) - EVERYWHERE
        if not matching(shown, ALL[name] - OF_EVERY_PAGE)
    }

    assert not needless


def test_no_style_is_of_a_class_that_nothing_has():
    written = set().union(*(classes_in(path.read_text()) for path in TEMPLATES.rglob("*.html")))
    styled = set().union(*ALL.values())

    assert not styled - matching(written, styled) - BY_SCRIPT


def test_one_place_decides_how_wide_a_page_is():
    widths = re.findall(
        r"^\.page(?:--\w+)? \{[^}]*max-width: ([^;]+);",
        "\n".join(path.read_text(encoding="utf-8") for path in COMPONENTS.glob("*.css")),
        re.MULTILINE,
    )

    assert widths == ["var(--page)"]

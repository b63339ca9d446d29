"""Rules of the house that no single tool holds up."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from django.apps import apps
from django.utils.module_loading import import_string

ROOT = Path(__file__).resolve().parents[1]
APPS = ("kb_project", "workspaces", "ingestion", "retrieval")
LONGEST_MODULE = 400
# One subject each, no plainer in two modules: all settings; what trusts nothing a reader replies.
LONGER = {"kb_project/settings.py": 440, "ingestion/parsers/sandbox.py": 430}
# Per thousand lines of Python.
MOST_SUPPRESSIONS = 0.5
SUPPRESSION = re.compile(r"#\s*(noqa|type:\s*ignore)(?P<rest>[^#]*)(?P<more>#.*)?")
CODED = re.compile(r"^(:\s*[A-Z]+[0-9]+(,\s*[A-Z]+[0-9]+)*|\[[a-z-]+(,\s*[a-z-]+)*\])")
DOTTED = re.compile(rf"({'|'.join(APPS)})(\.[A-Za-z_][A-Za-z0-9_]*)+")
# What a tenant model's manager may be asked: the door, and to make rows that name a workspace.
DOORS = {
    "in_workspace",
    "create",
    "bulk_create",
    "get_or_create",
    "update_or_create",
    "as_manager",
}
# A person's own memberships are read across workspaces; their policy in the database says so too.
OPEN_DOORS = {("workspaces/people/queries.py", "Membership.objects.filter")}
NOT_LITERAL = ("|safe", "{% autoescape", "mark_safe", "javascript:")
INLINE = re.compile(r"<script(?![^>]*\bsrc=)|<style\b|\sstyle=|\son[a-z]+=", re.IGNORECASE)
# The hosts that packages come from are the business of whoever installs.
REGISTRIES = (
    "py" + "pi.org",
    "python" + "hosted.org",
    "registry.npm" + "js",
    "deb.debian" + ".org",
)


# Modules that open connections, and who imports them: the guarded way out and its users, what asks
# for this machine's name or ports, and the parsers' own pair of sockets.
CONNECTING = {
    *("socket", "ssl", "http.client", "urllib.request", "urllib3", "ftplib", "smtplib", "poplib"),
    *("imaplib", "telnetlib", "xmlrpc.client", "requests", "httpx", "httpx2", "httpcore"),
    *("httpcore2", "aiohttp", "websockets", "websocket", "pycurl", "openai", "anyio"),
}
MAY_CONNECT = {
    "kb_project/egress.py": {"socket", "httpcore2", "httpx2"},
    "kb_project/llm/http.py": {"httpx2", "openai"},
    "kb_project/llm/halting.py": {"socket", "ssl", "httpcore2", "httpx2"},
    "kb_project/supervisor/startup.py": {"socket", "http.client"},
    "kb_project/jobs/claims.py": {"socket"},
    "kb_project/management/commands/run.py": {"socket"},
    "kb_project/management/commands/serve.py": {"socket"},
    "ingestion/parsers/host.py": {"socket"},
    "ingestion/parsers/sandbox.py": {"socket"},
    # The errors of the operator's mail server.
    "workspaces/people/inviting.py": {"smtplib"},
}


def sources(*folders: str) -> list[Path]:
    found = chain.from_iterable((ROOT / folder).rglob("*.py") for folder in folders)
    return sorted(path for path in found if "migrations" not in path.parts)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lines_of(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def templates() -> list[Path]:
    return sorted((ROOT / "templates").rglob("*.html"))


def tracked() -> list[Path]:
    """What git has, and what it would take: the files of the project."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name]


# --- the shape of the source ----------------------------------------------------------------------
def test_imports_point_one_way():
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]

    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stdout


def test_no_module_is_too_long_to_read():
    long = {named(path): lines_of([path]) for path in sources(*APPS, "tests", "benchmarks")}

    too_long = {
        name: lines for name, lines in long.items() if lines > LONGER.get(name, LONGEST_MODULE)
    }
    assert too_long == {}


def test_the_tests_are_as_long_as_what_they_test():
    assert lines_of(sources("tests")) >= lines_of(sources(*APPS))


def test_every_suppression_has_a_code_and_a_reason():
    bare = [place for place, rest, more in suppressions() if not CODED.match(rest)]
    silent = [place for place, rest, more in suppressions() if not more and len(rest.split()) < 2]

    assert (bare, silent) == ([], [])


def test_suppressions_stay_rare():
    found = list(suppressions())

    thousands = lines_of(sources(*APPS, "tests", "benchmarks")) / 1000
    assert len(found) <= MOST_SUPPRESSIONS * thousands, [place for place, *_ in found]


def suppressions() -> Iterator[tuple[str, str, str]]:
    """Place, what follows the word, and a second comment if there is one."""
    for path in sources(*APPS, "tests", "benchmarks"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            match = SUPPRESSION.search(line)
            if match and "re.compile" not in line:
                yield f"{named(path)}:{number}", match["rest"].strip(), match["more"] or ""


def test_every_module_begins_by_postponing_annotations():
    without = [
        named(path)
        for path in sources(*APPS, "tests", "benchmarks")
        if path.read_text(encoding="utf-8").strip()
        and not re.search(r"^from __future__ import annotations$", path.read_text(), re.MULTILINE)
        and len(tree_of(path).body) > 1
    ]

    assert without == []


def modules_with_examples() -> list[str]:
    return [
        named(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        for path in sources(*APPS)
        if "    >>> " in path.read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("module", modules_with_examples())
def test_the_examples_in_docstrings_are_true(module: str):
    result = doctest.testmod(importlib.import_module(module))

    assert result.attempted
    assert result.failed == 0


def test_nothing_connects_but_through_the_guarded_way_out():
    found = {named(path): imported_by(tree_of(path)) & CONNECTING for path in sources(*APPS)}

    assert {name: modules for name, modules in found.items() if modules} == MAY_CONNECT


def imported_by(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=given):
                names |= {one.name for one in given}
            case ast.ImportFrom(module=str(module), names=given):
                names |= {module} | {f"{module}.{one.name}" for one in given}
    return names | {name.partition(".")[0] for name in names}


# --- names that only strings hold together --------------------------------------------------------
def test_every_dotted_name_in_a_string_leads_somewhere():
    names = {(text, named(path)) for path in sources(*APPS) for text in strings_in(tree_of(path))}
    dotted = {(text, where) for text, where in names if DOTTED.fullmatch(text)}

    assert {pair for pair in dotted if not leads_somewhere(pair[0])} == set()
    assert "ingestion.tasks.run_lane" in {text for text, _ in dotted}


def strings_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def leads_somewhere(name: str) -> bool:
    """As a module, something in one, or a model."""
    for lookup in (importlib.import_module, import_string, apps.get_model):
        try:
            lookup(name)
        except (ImportError, LookupError, ValueError):
            continue
        return True
    return False


def test_the_scheduled_sweep_is_a_task_that_exists():
    migration = importlib.import_module("ingestion.migrations.0003_sweep")
    source = Path(str(migration.__file__)).read_text(encoding="utf-8")

    [name] = re.findall(r'"(ingestion\.tasks\.\w+)"', source)
    assert callable(import_string(name))


# --- tenants --------------------------------------------------------------------------------------
def tenant_models() -> set[str]:
    return {
        model.__name__
        for app in ("workspaces", "ingestion", "retrieval")
        for model in apps.get_app_config(app).get_models()
        if any(field.name == "workspace" for field in model._meta.get_fields())
    }


def test_every_tenant_model_has_the_scoped_door():
    without = [
        model.__name__
        for app in ("workspaces", "ingestion", "retrieval")
        for model in apps.get_app_config(app).get_models()
        if model.__name__ in tenant_models() and not hasattr(model._default_manager, "in_workspace")
    ]

    assert without == []
    assert {"Membership", "Document", "Posting", "Community", "Answer"} <= tenant_models()


def test_tenant_rows_are_reached_through_the_door_only():
    strays = {
        (named(path), call)
        for path in sources(*APPS)
        for call in manager_calls(tree_of(path))
        if call.rpartition(".")[2] not in DOORS
    }

    assert strays == OPEN_DOORS


def manager_calls(tree: ast.AST) -> Iterator[str]:
    """``Model.objects.method`` of every tenant model."""
    models = tenant_models()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(
                attr=method, value=ast.Attribute(attr="objects", value=ast.Name(id=model))
            ) if model in models:
                yield f"{model}.objects.{method}"


# --- templates ------------------------------------------------------------------------------------
def test_nothing_in_a_page_is_trusted_blindly():
    texts = {named(path): path.read_text(encoding="utf-8") for path in templates()}
    texts |= {named(path): path.read_text(encoding="utf-8") for path in sources(*APPS)}

    trusted = [(name, word) for name, text in texts.items() for word in NOT_LITERAL if word in text]

    assert trusted == []


def test_no_page_has_inline_scripts_or_styles():
    inline = {
        named(path): found
        for path in templates()
        if (found := INLINE.findall(path.read_text(encoding="utf-8")))
    }

    assert inline == {}


# --- the repository -------------------------------------------------------------------------------
def test_no_file_names_where_packages_come_from():
    naming = [
        named(path)
        for path in tracked()
        if path.is_file()
        and path.suffix in {"", ".py", ".md", ".toml", ".txt", ".yml", ".html", ".css", ".sh"}
        and any(host in path.read_text(encoding="utf-8", errors="replace") for host in REGISTRIES)
    ]

    assert naming == []


def test_sql_and_environment_are_touched_in_their_own_places_only():
    reading = [
        named(path)
        for path in sources(*APPS)
        if re.search(r"\bos\.(environ|getenv)\b", path.read_text(encoding="utf-8"))
        and named(path) not in {"kb_project/env.py", "kb_project/asgi.py"}
    ]

    assert reading == []


def test_only_stages_and_jobs_catch_everything():
    broad = [
        f"{named(path)}:{node.lineno}"
        for path in sources(*APPS)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler) and catches_everything(node)
    ]

    # A stage's edge and a job's: whatever it was, it is written down where people look.
    edges = ["ingestion/pipeline/runner.py", "kb_project/jobs/worker.py"]
    assert [place.partition(":")[0] for place in broad] == edges


def catches_everything(handler: ast.ExceptHandler) -> bool:
    caught = handler.type
    kinds: list[ast.expr | None] = [*caught.elts] if isinstance(caught, ast.Tuple) else [caught]
    re_raises = any(isinstance(node, ast.Raise) for node in handler.body)
    return not re_raises and any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in {"Exception", "BaseException"})
        for kind in kinds
    )

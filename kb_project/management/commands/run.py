"""Run everything: database, migrations, demo workspace, web server, workers."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management import get_commands
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kb_project.database.engine.base import DATA
from kb_project.database.migrating import migrate
from kb_project.env import env_int, env_str
from kb_project.errors import KBError
from kb_project.supervisor.database_guard import DatabaseGuard
from kb_project.supervisor.listener import open_listener
from kb_project.supervisor.part import Part
from kb_project.supervisor.single import only_supervisor
from kb_project.supervisor.supervisor import OWN_NAME, Supervisor, stopped_by_signals
from kb_project.supervisor.welcome import Console, SignIn, call_when_answering, welcome_text

WEB: Final = "web"
DEMO: Final = "demo"
DEMO_COMMAND: Final = "loaddemo"
# Embedding uses whole cores for minutes; pages must not slow down.
EMBEDDING_NICE: Final = 10


class Command(BaseCommand):
    help = "Start everything, and keep it running until Ctrl-C."
    # They load every page's code, which this process never runs; its children run their own checks.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=env_str("HOST", "127.0.0.1"))
        parser.add_argument("--port", type=int, default=env_int("PORT", 8000, minimum=1))
        parser.add_argument("--no-demo", action="store_true", help="without the demo workspace")

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        console = Console(sys.stdout)
        try:
            with open_listener(host, port) as listener:
                address = _address(host, listener)
                with only_supervisor(settings.DATA_DIR, address):
                    if listener.getsockname()[1] != port:
                        console.say(OWN_NAME, f"Port {port} is taken; using {address}.")
                    _run(console, listener, address, demo=not options["no_demo"])
        except KBError as error:
            raise CommandError(error.sentence) from error


def _run(console: Console, listener: socket.socket, address: str, *, demo: bool) -> None:
    guard = _guard(console)
    try:
        if guard is not None:
            guard.start()
        migrate(lambda sentence: console.say(OWN_NAME, sentence))
        parts = _parts(listener.fileno(), demo=demo and DEMO_COMMAND in get_commands())
        supervisor = Supervisor(parts, say=console.say, look=guard.look if guard else _nothing)
        _announce(console, supervisor, listener, address)
        with stopped_by_signals(supervisor, console.say):
            supervisor.run()
    except KeyboardInterrupt:  # Ctrl-C before the parts were started
        console.say(OWN_NAME, "Stopping …")
    finally:
        if guard is not None:
            guard.stop()
    console.say(OWN_NAME, "Stopped.")


def _guard(console: Console) -> DatabaseGuard | None:
    """Return a guard; None if DATABASE_URL names a server that is managed elsewhere."""
    folder = settings.DATABASES["default"]["OPTIONS"].get(DATA)
    return None if folder is None else DatabaseGuard(Path(folder), console.say)


def _parts(listener_fd: int, *, demo: bool) -> list[Part]:
    parts = [
        Part(
            WEB,
            _manage("serve", "--fd", str(listener_fd)),
            environment={"DATABASE_POOL": "true"} | _quiet(),
            pass_fds=(listener_fd,),
        ),
        Part("worker", _manage("worker"), environment=_quiet()),
        Part(
            "embedding",
            _manage("worker", "--lane", "embedding"),
            environment=_quiet(),
            nice=EMBEDDING_NICE,
        ),
        Part(
            "answering",
            _manage("worker", "--lane", "answering"),
            environment={"DATABASE_POOL": "true"} | _quiet(),
        ),
    ]
    load_demo = Part(DEMO, _manage(DEMO_COMMAND), environment=_quiet(), once=True)
    return [*parts, load_demo] if demo else parts


def _quiet() -> dict[str, str]:
    """A person reads this terminal: warnings only, unless LOG_LEVEL is set."""
    return {} if env_str("LOG_LEVEL") else {"LOG_LEVEL": "WARNING"}


def _manage(*words: str) -> tuple[str, ...]:
    return (sys.executable, str(settings.BASE_DIR / "manage.py"), *words)


def _announce(
    console: Console, supervisor: Supervisor, listener: socket.socket, address: str
) -> None:
    """Announce the address once the pages answer; with a demo, once its documents are ready."""

    def web_answers() -> None:
        if not supervisor.is_done(DEMO):
            console.say(OWN_NAME, f"{address} is up; processing the demo documents …")
            supervisor.wait_until_done(DEMO)
        console.paragraph(welcome_text(address, _demo_sign_in()))

    host, port = listener.getsockname()[:2]
    call_when_answering(host, port, web_answers)


def _demo_sign_in() -> SignIn | None:
    email, password = (getattr(settings, name, "") for name in ("DEMO_EMAIL", "DEMO_PASSWORD"))
    return SignIn(email, password) if email else None


def _address(host: str, listener: socket.socket) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"


def _nothing() -> None:
    """Do nothing."""

"""Run only the web server; `run` starts it together with everything else."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, Final

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from kb_project.http.limits import BoundedProtocol
from kb_project.supervisor.startup import mail_warning

APPLICATION: Final = "kb_project.asgi:application"
SECONDS_TO_FINISH_REQUESTS: Final = 3


class Command(BaseCommand):
    help = "Serve the pages and the API."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--fd", type=int, help="descriptor of a listening socket, instead of host and port"
        )

    def handle(self, *args: Any, host: str, port: int, fd: int | None, **options: Any) -> None:
        # WhiteNoise warns if the folder for collected files is missing.
        Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
        if fd is None and (warning := mail_warning(settings.EMAIL_BACKEND, host)):
            self.stderr.write(warning)
        config = uvicorn.Config(
            APPLICATION,
            host=host,
            port=port,
            loop="uvloop",
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            # The application logs requests itself, with user and request id.
            access_log=False,
            log_level="warning",
            server_header=False,
            # kb_project.http.addresses reads them, from TRUSTED_PROXIES only.
            proxy_headers=False,
            timeout_graceful_shutdown=SECONDS_TO_FINISH_REQUESTS,
        )
        sockets = None if fd is None else [socket.socket(fileno=fd)]
        uvicorn.Server(config).run(sockets=sockets)

from __future__ import annotations

from django.apps import AppConfig


class KbProjectConfig(AppConfig):
    name = "kb_project"

    def ready(self) -> None:
        from kb_project import checks  # noqa: F401, PLC0415 - registers them, once apps are loaded

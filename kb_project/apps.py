from __future__ import annotations

from django.apps import AppConfig

from kb_project.database import arrays
from kb_project.http import converters


class KbProjectConfig(AppConfig):
    name = "kb_project"

    def ready(self) -> None:
        # Before any URL module is imported, in whatever order.
        converters.register()
        arrays.register()
        from kb_project import checks  # noqa: F401, PLC0415 - registers them, once apps are loaded

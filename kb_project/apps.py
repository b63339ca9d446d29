from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings
from django.urls import register_converter
from django_q.conf import Conf

from kb_project import sql
from kb_project.keys import derived_key


class WorkspaceConverter:
    """Matches a workspace's slug or UUID; the gate tells them apart."""

    regex = "[-a-zA-Z0-9_]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: object) -> str:
        return str(value)


class KbProjectConfig(AppConfig):
    name = "kb_project"

    def ready(self) -> None:
        # Before any URL module is imported, in whatever order.
        register_converter(WorkspaceConverter, "workspace")
        sql.register_list_dumper()
        sql.register_lookups()
        # Entries of the queue are pickles: whoever reads one key must not be able to sign them.
        Conf.SECRET_KEY = derived_key(settings.SECRET_KEY, b"concordance queue").hex()
        from kb_project import checks  # noqa: F401, PLC0415 - registers them, once apps are loaded

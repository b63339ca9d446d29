"""Migrate as the role that owns the tables; the application role may not change them.

Test runners and scripts pass the alias they work with, but the tables have one owner.
"""

from __future__ import annotations

from django.core.management.commands import migrate

from kb_project.commands import AsOwner


class Command(AsOwner, migrate.Command):
    pass

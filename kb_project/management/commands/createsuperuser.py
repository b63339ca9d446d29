"""Create an operator, as the role that owns the tables; the application role may not."""

from __future__ import annotations

from django.contrib.auth.management.commands import createsuperuser

from kb_project.commands import AsOwner


class Command(AsOwner, createsuperuser.Command):
    pass

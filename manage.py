#!/usr/bin/env python
"""Concordance from the command line: `python manage.py help` lists the commands."""

from __future__ import annotations

import gc
import os
import sys

from django.conf import settings
from django.core.management import execute_from_command_line

from kb_project.confinement.libc import hide_memory
from kb_project.jobs.gc import THRESHOLDS


def main() -> None:
    # What is imported stays: to look through it for garbage took a tenth of every start.
    gc.set_threshold(*THRESHOLDS)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
    if not settings.ALLOW_DEBUGGERS:
        hide_memory()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()

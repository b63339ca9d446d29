#!/usr/bin/env python
"""Concordance from the command line: `python manage.py help` lists the commands."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()

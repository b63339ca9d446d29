from __future__ import annotations

from typing import ClassVar

from django.apps import AppConfig


class IngestionConfig(AppConfig):
    name = "ingestion"
    # For ``manage.py worker``: the function that serves a lane.
    lanes: ClassVar = {
        "main": "ingestion.pipeline.recovery.work",
        "embedding": "ingestion.pipeline.recovery.work",
        "refreshing": "ingestion.pipeline.recovery.work",
    }

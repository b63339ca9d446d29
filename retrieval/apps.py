from __future__ import annotations

from typing import ClassVar

from django.apps import AppConfig


class RetrievalConfig(AppConfig):
    name = "retrieval"
    # For ``manage.py worker``: the function that serves a lane.
    lanes: ClassVar = {"answering": "retrieval.worker.work"}
    # For ``ingestion.editions``: what people make here and keep when their access changes.
    user_content = "retrieval.user_content.KINDS"

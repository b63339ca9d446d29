"""Extraction by a chat model, limited to what the text supports.

``schema`` describes the model's answers, ``facts`` keeps what the text supports, ``ask`` runs the
conversations.
"""

from __future__ import annotations

from ingestion.extractors.model.ask import Passage, extract_all, method_of
from ingestion.extractors.model.facts import Reading, read

__all__ = ["Passage", "Reading", "extract_all", "method_of", "read"]

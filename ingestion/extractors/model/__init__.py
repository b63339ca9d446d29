"""Who and what a text speaks of, as a chat model says it and the text bears out.

``schema`` is what a model answers, ``facts`` keeps of it what stands in the text, ``ask`` holds the
conversations.
"""

from __future__ import annotations

from ingestion.extractors.model.ask import Passage, extract_all, method_of
from ingestion.extractors.model.facts import Reading, read

__all__ = ["Passage", "Reading", "extract_all", "method_of", "read"]

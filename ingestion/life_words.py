"""What follows when documents go, in the words of pages."""

from __future__ import annotations

from collections.abc import Sequence

from ingestion.losses import Losses
from ingestion.models import Document, HistoryEvent
from kb_project.text.counting import counted


def named(documents: Sequence[Document]) -> str:
    if len(documents) == 1:
        return f"“{documents[0].title}”"
    return counted(len(documents), "document")


def into_trash(document: Document, losses: Losses, days: int) -> str:
    """Before it is put into the trash."""
    follows = losses.sentence if document.is_live else "It is not searched as it is."
    return f"{follows} It can be restored for {counted(days, 'day')}."


def for_good(documents: Sequence[Document], losses: Losses) -> str:
    """Before it is deleted for good."""
    parts = [f"Deleting {named(documents)} removes {counted(losses.passages, 'passage')}"]
    if losses.facts:
        own = "its" if losses.facts == 1 else "their"
        verb = "loses" if losses.facts == 1 else "lose"
        parts.append(f"{counted(losses.facts, 'fact')} {verb} {own} only source")
    if losses.facts_kept:
        parts.append(f"{losses.facts_kept:,} keep{'s' * (losses.facts_kept == 1)} other sources")
    cited = ("it", "its number") if len(documents) == 1 else ("them", "their numbers")
    kept = f"Answers that cite {cited[0]} keep {cited[1]}, without what they quoted."
    return f"{'; '.join(parts)}. {kept}"


def are_gone(count: int) -> str:
    """Of documents that were chosen.

    >>> are_gone(1)
    '1 document of those chosen is not there any more.'
    """
    verb = "is" if count == 1 else "are"
    return f"{counted(count, 'document')} of those chosen {verb} not there any more."


def twins(event: HistoryEvent) -> str:
    """'' where what came back has no like."""
    titles = event.details.get("twins") or []
    if not titles:
        return ""
    others = f" and {len(titles) - 1} more like it" if len(titles) > 1 else ""
    return f"There is another document called “{titles[0]}”{others}. Both are searched."

from __future__ import annotations

from pathlib import Path

import pytest
from pypdfium2 import PdfDocument

from ingestion.documents import reader
from ingestion.models import DocumentVersion
from ingestion.parsers.sandbox import default_sandbox
from kb_project.errors import NotFoundError

DEMO = Path("ingestion/demo/documents/Strategy 2025-2030.pdf")


@pytest.fixture
def strategy(settings, tmp_path: Path) -> DocumentVersion:
    settings.MEDIA_ROOT = tmp_path
    source = Path(settings.BASE_DIR) / DEMO
    (tmp_path / "strategy").write_bytes(source.read_bytes())
    parsed = default_sandbox().parse(source, name=source.name)
    pages = [[page.number, page.start, page.end] for page in parsed.pages]
    return DocumentVersion(text=parsed.text, pages=pages, parser="pdf", blob="strategy")


def test_a_picture_is_made_once_and_kept(strategy, tmp_path):
    first = reader.page_picture(version=strategy, number=1)
    kept = tmp_path / "strategy.pages" / "1.png"
    kept.write_bytes(b"kept")

    assert first.startswith(b"\x89PNG")
    assert reader.page_picture(version=strategy, number=1) == b"kept"
    assert [path.name for path in kept.parent.iterdir()] == ["1.png"]


def test_a_page_there_is_not_has_no_picture(strategy):
    with pytest.raises(NotFoundError):
        reader.page_picture(version=strategy, number=99)


def test_only_a_pdf_has_pictures():
    with pytest.raises(NotFoundError):
        reader.page_picture(version=DocumentVersion(pages=[[1, 0, 9]], parser="pptx"), number=1)


def test_the_boxes_of_a_span_lie_on_its_page(strategy):
    number, start, _ = strategy.pages[1]

    boxes = reader.page_marks(version=strategy, number=number, span=(start, start + 120))

    assert boxes
    for box in boxes:
        assert 0 <= box.left < box.left + box.width <= 1000
        assert 0 <= box.top < box.top + box.height <= 1000


def test_a_span_on_another_page_has_no_boxes(strategy):
    _, start, _ = strategy.pages[1]

    assert reader.page_marks(version=strategy, number=1, span=(start, start + 20)) == []
    assert reader.page_marks(version=strategy, number=99, span=(0, 20)) == []


def test_a_file_that_is_broken_has_no_boxes_but_the_page_goes_on(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    (tmp_path / "broken").write_bytes(b"%PDF-1.4 nonsense")
    version = DocumentVersion(pages=[[1, 0, 9]], parser="pdf", blob="broken")

    assert reader.page_marks(version=version, number=1, span=(0, 5)) == []


def test_an_empty_page_has_a_picture_too(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    pdf = PdfDocument.new()
    pdf.new_page(300, 400)
    pdf.save(tmp_path / "empty")
    version = DocumentVersion(pages=[[1, 0, 0]], parser="pdf", blob="empty")

    assert reader.page_picture(version=version, number=1).startswith(b"\x89PNG")

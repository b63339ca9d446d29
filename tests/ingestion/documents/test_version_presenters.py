from __future__ import annotations

import pytest

from ingestion.documents.version_presenters import nearest

EARLIER = "# Log\n\nAda Lind keeps the light of Skarrow.\n\nBo sells oil.\n"


def found(words: str, later: str) -> str | None:
    start = EARLIER.index(words)
    span = nearest(EARLIER, (start, start + len(words)), later)
    return None if span is None else later[span[0] : span[1]]


def test_the_same_words_are_found_wherever_they_stand():
    assert found("Bo sells oil.", "It blew.\n\nBo sells oil.\n") == "Bo sells oil."


def test_of_several_places_the_one_nearest_to_the_old_one_is_taken():
    later = f"Bo sells oil.{' ' * 40}Bo sells oil."
    start = EARLIER.index("Bo sells oil.")

    span = nearest(EARLIER, (start, start + 13), later)

    assert span == (53, 66)


def test_a_paragraph_that_was_changed_is_found_by_its_words():
    later = "It blew.\n\nAda Lind kept the light of Skarrow."

    assert found("keeps the light", later) == "Ada Lind kept the light of Skarrow."


@pytest.mark.parametrize("later", ["", "Nothing of it is here."])
def test_what_is_said_no_more_is_not_found(later: str):
    assert found("Bo sells oil.", later) is None


def test_a_span_of_nothing_is_found_nowhere():
    assert nearest(EARLIER, (5, 7), EARLIER) is None
    assert nearest("", (0, 0), EARLIER) is None

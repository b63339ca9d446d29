"""The number of a list's entry, in the form that the list has."""

from __future__ import annotations

from typing import Final

_ROMAN: Final = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


def list_number(number: int, form: str) -> str:
    """``form`` is named as in Word; an unknown one counts in digits.

    >>> [list_number(28, form) for form in ("decimal", "lowerLetter", "upperRoman", "ordinal")]
    ['28', 'bb', 'XXVIII', '28']
    """
    if form.endswith("Letter") and number > 0:
        shown = chr(ord("a") + (number - 1) % 26) * min(1 + (number - 1) // 26, 9)
    elif form.endswith("Roman") and 0 < number < 4000:
        shown = _roman(number)
    else:
        shown = f"{number:02}" if form == "decimalZero" else str(number)
    return shown.upper() if form.startswith("upper") else shown


def _roman(number: int) -> str:
    parts = []
    for value, letters in _ROMAN:
        parts.append(letters * (number // value))
        number %= value
    return "".join(parts)

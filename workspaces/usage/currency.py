"""Formats amounts of money, in whatever currency the prices are in."""

from __future__ import annotations


def money(amount: float) -> str:
    """Format with two significant digits below 0.1, else two decimals; never in powers of ten.

    >>> money(0), money(0.00123), money(0.05), money(12.345), money(1234.5)
    ('0', '0.0012', '0.05', '12.35', '1,234.50')
    """
    if not amount:
        return "0"
    if amount >= 0.1:
        return f"{amount:,.2f}"
    for digits in range(3, 8):
        if amount * 10**digits >= 10:
            return f"{amount:.{digits}f}".removesuffix("0")
    return "less than 0.000001"

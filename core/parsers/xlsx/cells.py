"""A cell's value as a person sees it, more or less: ISO dates, percentages, no floating point dust."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

_QUOTED = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')


def cell_text(value: object, number_format: str = "General") -> str:
    """`cell_text(0.075, "0.0%")` gives "7.5%"; `cell_text(datetime(2031, 3, 4))` gives "2031-03-04"."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, int | float):
        return _number(value, number_format)
    return str(value)


def _number(value: float, number_format: str) -> str:
    shown = _QUOTED.sub("", (number_format or "").partition(";")[0])
    if "%" in shown:
        decimals = re.search(r"\.([0#?]+)", shown)
        return f"{value * 100:.{len(decimals.group(1)) if decimals else 0}f}%"
    # Excel itself keeps 15 digits.
    return f"{value:.15g}" if isinstance(value, float) and abs(value) < 1e15 else str(value)

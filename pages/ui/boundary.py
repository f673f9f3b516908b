"""The one place that catches everything: an error becomes one sentence, and the log keeps the rest under an id.

No traceback and no path of this machine reaches the browser. Streamlit's own stop and rerun pass through, they aren't
`Exception`s.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import streamlit as st

from core.errors import FootnoteError
from pages.ui.literal import literal
from pages.ui.texts import t

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")


def sentence(error: Exception) -> str:
    """What a person reads about `error`. Ours speak for themselves; any other is logged and named by its log id."""
    if isinstance(error, FootnoteError):
        logger.info("shown to a person: %s", error)
        return str(error)
    log_id = secrets.token_hex(4)
    logger.error("error %s", log_id, exc_info=error)
    return t("error.unexpected", id=log_id)


@contextmanager
def boundary() -> Iterator[None]:
    """Around whatever draws: a page, a fragment."""
    try:
        yield
    except Exception as error:  # noqa: BLE001
        st.error(literal(sentence(error)))


def guarded(callback: Callable[P, R]) -> Callable[P, R | None]:
    """Around a callback. It can't draw, so its error is shown on top of the page that follows."""

    @wraps(callback)
    def run(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return callback(*args, **kwargs)
        except Exception as error:  # noqa: BLE001
            notify(sentence(error), "error")
            return None

    return run


def on_script_error(error: Exception) -> bool:
    """The net under both: True tells Streamlit that the error has been shown."""
    st.error(literal(sentence(error)))
    return True


def notify(text: str, kind: str = "info") -> None:
    """Say something once, on top of the page that is drawn next."""
    st.session_state.setdefault("notices", []).append((kind, text))


def show_notices() -> None:
    for kind, text in st.session_state.pop("notices", []):
        (st.error if kind == "error" else st.info)(literal(text))

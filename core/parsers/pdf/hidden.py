"""Text that is in the file but that nobody can see on the page: in the colour of its background, or tiny.

Text without any paint (render mode 3) isn't hidden in this sense: it is the text layer of a scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pymupdf

_TINY_POINTS = 3.0
_LIGHT = 0xE6
_CONTRAST = 24  # of 255
_MAX_PIXELS = 1500


NAMED_PAGES = 10


def page_list(pages: Sequence[int]) -> str:
    """The first ten: "1, 2, 3, …"."""
    return ", ".join(map(str, pages[:NAMED_PAGES])) + (", …" if len(pages) > NAMED_PAGES else "")


class HiddenText:
    """`is_hidden(span, page)` looks at the drawn page, once a page and only for light text. Counts what it found."""

    def __init__(self, count: int = 0, pages: Sequence[int] = ()) -> None:
        """count, pages: what was found in earlier parts of the file, see `state`"""
        self._count = count
        self._pages = set(pages)
        self._drawn: tuple[int, pymupdf.Pixmap, float] | None = None

    def is_hidden(self, span: dict, page: pymupdf.Page) -> bool:
        if not span["text"].strip() or span.get("alpha", 255) == 0:
            return False
        color = span["color"]
        is_light = min(color >> 16 & 255, color >> 8 & 255, color & 255) >= _LIGHT
        if span["size"] >= _TINY_POINTS and not (is_light and self._has_no_contrast(span["bbox"], page)):
            return False
        if any(map(str.isalnum, span["text"])):
            self._count += 1
            if len(self._pages) <= NAMED_PAGES:
                self._pages.add(page.number + 1)
        return True

    @property
    def state(self) -> tuple[int, list[int]]:
        return self._count, sorted(self._pages)

    def warning(self) -> str:
        if not self._count:
            return ""
        what = "passage" if self._count == 1 else "passages"
        places = page_list(sorted(self._pages))
        return f"{self._count} hidden {what} skipped (invisible or tiny text on page {places})"

    def _has_no_contrast(self, box: tuple[float, float, float, float], page: pymupdf.Page) -> bool:
        """Whether the place shows one even shade, with the text drawn."""
        import pymupdf

        if self._drawn is None or self._drawn[0] != page.number:
            zoom = min(1.0, _MAX_PIXELS / max(page.rect.width, page.rect.height, 1))
            pixels = page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csGRAY, alpha=False)
            self._drawn = (page.number, pixels, zoom)
        _, pixels, zoom = self._drawn
        x0, x1 = (min(max(int(x * zoom) - pixels.x, 0), pixels.width) for x in (box[0], box[2] + 1))
        y0, y1 = (min(max(int(y * zoom) - pixels.y, 0), pixels.height) for y in (box[1], box[3] + 1))
        if x1 <= x0 or y1 <= y0:
            return True  # outside the page
        samples = pixels.samples_mv
        rows = [samples[y * pixels.stride + x0 : y * pixels.stride + x1] for y in range(y0, y1)]
        return max(map(max, rows)) - min(map(min, rows)) < _CONTRAST

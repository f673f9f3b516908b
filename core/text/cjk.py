"""Characters of Chinese, Japanese and Korean text that are written without spaces between words."""

from __future__ import annotations

# For a character class. Hangul isn't in it: Korean puts spaces between words.
WIDE = (
    "\u2e80-\u2fdf\u3001-\u303f\u3040-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff01-\uff60\uff65-\uff9f\U00020000-\U0003ffff"
)

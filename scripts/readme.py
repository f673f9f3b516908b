"""The README's tables, made from the settings and the registries. Run it after adding one: python scripts/readme.py"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def settings_table(fields: Mapping) -> str:
    lines = ["| variable | default | what it does |", "|---|---|---|"]
    for name, field in fields.items():
        default = field.default if field.default_factory is None else "your cache folder, footnote/models"
        text = {True: "on", False: "off"}.get(default, default) if isinstance(default, bool) else default
        lines.append(f"| `FOOTNOTE_{name.upper()}` | {f'`{text}`' if str(text) else ''} | {field.description} |")
    return "\n".join(lines)


def strategies_table(registries: Mapping[str, Mapping[str, str]]) -> str:
    lines = ["| kind | name | what it does |", "|---|---|---|"]
    for kind, strategies in registries.items():
        lines += [f"| {kind} | `{name}` | {text} |" for name, text in sorted(strategies.items())]
    return "\n".join(lines)


def filled(text: str, name: str, table: str) -> str:
    """The text with the table that follows the comment `<!-- name: … -->` replaced."""
    return re.sub(rf"(<!-- {name}: [^>]*-->\n)\n*(?:\|.*\n)*\n*", lambda match: f"{match[1]}\n{table}\n\n", text)


def main() -> None:
    sys.path.insert(0, str(ROOT))
    from core.bootstrap import registries
    from core.settings import Settings

    path = ROOT / "README.md"
    text = filled(path.read_text(encoding="utf-8"), "settings", settings_table(Settings.model_fields))
    path.write_text(filled(text, "strategies", strategies_table(registries())), encoding="utf-8")


if __name__ == "__main__":
    main()

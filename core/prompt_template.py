"""Text with `{{variables}}`. Only this: no conditions, no loops, and a value is never looked at again for variables."""

from __future__ import annotations

import re
from collections.abc import Mapping

from core.errors import ConfigError

_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class PromptTemplate:
    """`PromptTemplate("Hello {{name}}").apply({"name": "Ada"})` gives "Hello Ada".

    text      the template
    required  variables that it must hold, else ConfigError: an own template can't lose the question
    """

    def __init__(self, text: str, *, required: tuple[str, ...] = ()) -> None:
        self.text = text
        self.variables = frozenset(_VARIABLE.findall(text))
        missing = [name for name in required if name not in self.variables]
        if missing:
            names = ", ".join("{{" + name + "}}" for name in missing)
            raise ConfigError(f"the prompt template must hold {names}")

    def apply(self, values: Mapping[str, object]) -> str:
        """The text with every variable replaced, in one pass. raises ConfigError naming what has no value"""
        missing = sorted(self.variables - values.keys())
        if missing:
            names = ", ".join(repr(name) for name in missing)
            raise ConfigError(f"the prompt template has no value for {names}")
        return _VARIABLE.sub(lambda match: str(values[match[1]]), self.text)

    @classmethod
    def of(cls, template: str | PromptTemplate, *, required: tuple[str, ...] = ()) -> PromptTemplate:
        """Accepts both; checks the required variables of both."""
        return cls(template.text if isinstance(template, PromptTemplate) else template, required=required)

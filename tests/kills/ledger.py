"""What must be there, from what was acknowledged. One line a fact; the child reports them, its parent keeps them.

may   it was begun: from now on it can be so            ("document:a", "live:txt-1-1-12")
will  it was acknowledged: once all work is done it is so; until then it may still be as before
is    it was reported done: it is so now
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Fact:
    """now: states that it may be in at this moment; then: those once nothing waits any more."""

    now: set[str] = field(default_factory=set)
    then: set[str] = field(default_factory=set)
    about: dict[str, Any] = field(default_factory=dict)


@dataclass
class Ledger:
    """Keys are "document:<collection token>:<source>", "collection:<token>", "turn:<request key>", "setting:<name>
    …"""

    facts: dict[str, Fact] = field(default_factory=dict)

    def apply(self, how: str, key: str, state: str, about: dict[str, Any] | None = None) -> None:
        fact = self.facts.setdefault(key, Fact(now={"gone"}, then={"gone"}))
        fact.about |= about or {}
        if how == "may":
            fact.now.add(state)
            fact.then.add(state)
        elif how == "will":
            fact.now.add(state)
            fact.then = {state}
        else:
            fact.now, fact.then = {state}, {state}

    def settle(self, found: dict[str, str]) -> None:
        """What was only possible is known now; what is gone for good is forgotten."""
        for key, state in found.items():
            self.apply("is", key, state)
        for key in [key for key, fact in self.facts.items() if fact.now == {"gone"} and _is_forgettable(key)]:
            del self.facts[key]

    def keys(self, kind: str, state: str = "") -> list[str]:
        """Keys of a kind whose state is known for certain and begins like this."""
        return [
            key
            for key, fact in self.facts.items()
            if key.startswith(f"{kind}:") and len(fact.now) == 1 and next(iter(fact.now)).startswith(state)
        ]

    def state(self, key: str) -> str:
        """raises ValueError where it isn't known for certain"""
        (state,) = self.facts[key].now
        return state


def _is_forgettable(key: str) -> bool:
    return not key.startswith("setting:")

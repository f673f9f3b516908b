"""One round, in the process that is killed: look at what is there, go on until nothing waits, look again, work."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from core.bootstrap import Services, build_services
from core.settings import Settings
from tests.kills.contents import Content
from tests.kills.ledger import Ledger
from tests.kills.operations import OPERATIONS, World, tidy
from tests.kills.other_operations import OTHER_OPERATIONS, ended, leave_work
from tests.kills.sides import Sides
from tests.kills.survey import A_DAY_S, Survey

ALL_OPERATIONS = {**OPERATIONS, **OTHER_OPERATIONS, "leave work": leave_work}
# What a process that starts sweeps by itself, once it's old: files, and parts that were read with other settings.
_SWEPT = ("orphan_files", "orphan_text")
_SWEEP_TIMEOUT_S = 20.0
_LAST_POINTS_S = 0.05  # what other threads pass a moment after an operation was reported done is still its own


@dataclass(frozen=True)
class Target:
    """Where a process kills itself: at the `nth` time (from 1) that `operation` passes `point`."""

    operation: str
    point: str
    nth: int = 1


@dataclass
class Round:
    """What the victim is given. `expected`: content name -> signatures; `model`: the embedding model's name."""

    folder: Path
    ledger: Ledger
    contents: tuple[Content, ...]
    expected: Mapping[str, set[str]]
    plan: Sequence[str]
    seed: int
    target: Target | None = None
    model: str = "hashing"
    max_segment_tokens: int = 300


def settings_of(round: Round) -> Settings:
    return Settings(
        data=round.folder / "data",
        chat_model="echo",
        embedding_model=round.model,
        max_segment_tokens=round.max_segment_tokens,
    )


class Victim:
    """Writes JSON lines to `pipe`: facts, the operations' beginnings and ends, fault points, problems."""

    def __init__(self, round: Round, pipe: int) -> None:
        self._round, self._pipe = round, pipe
        self._parent = os.getppid()
        self._lock = threading.RLock()
        self._operation = "start"
        self._armed = True
        self._passed: dict[str, int] = {}

    def run(self) -> None:
        try:
            self._run()
        except BaseException:  # noqa: BLE001 the edge of a process: its parent is told
            self._say(problem=f"unexpected: {traceback.format_exc()}")

    def _run(self) -> None:
        _age(self._round.folder)
        services = build_services(settings_of(self._round), fault=self.fault)
        self._look_first(services)
        services.start()
        self._go_on(services)
        self._armed = False
        self._say(verified=True)
        world = World(
            services,
            self._round.ledger,
            self._round.contents,
            self._round.folder,
            self._report,
            self._begin,
            random.Random(self._round.seed),
            self.fault,
        )
        tidy(world)
        for name in self._round.plan:
            self._operation, self._armed, self._passed = name, False, {}
            ALL_OPERATIONS[name](world)
            time.sleep(_LAST_POINTS_S)
        self._say(finished=True)
        while os.getppid() == self._parent:  # nobody kills it where that one was ended
            time.sleep(0.1)

    def fault(self, point: str) -> None:
        """Given to the services: tells the parent, and ends this process where the target is."""
        if not self._armed:
            return
        with self._lock:
            self._passed[point] = self._passed.get(point, 0) + 1
            self._say(point=point, nth=self._passed[point], operation=self._operation)
            if self._round.target == Target(self._operation, point, self._passed[point]):
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)

    def _look_first(self, services: Services) -> None:
        """What the app looks at when it starts, then everything. Leftovers are not yet swept."""
        survey = Survey(services, self._round.expected)
        for full in (False, True):
            survey.checks(full=full, apart_from=_SWEPT)
        sides = Sides(services, self._round.ledger, self._round.folder)
        self._compare(self._documents(survey) | sides.turns(all_done=False) | sides.settings(), "now")
        self._tell(survey.problems + sides.problems)

    def _go_on(self, services: Services) -> None:
        services.indexing.run_until_idle()
        for conversation in services.chat.conversations():
            for message in services.chat.messages(conversation.id):
                if message.role == "assistant":
                    ended(services, message.id)
        survey = Survey(services, self._round.expected)
        sides = Sides(services, self._round.ledger, self._round.folder)
        found = self._documents(survey) | sides.turns(all_done=True) | sides.settings()
        self._compare(found, "then")
        found |= sides.beside()
        survey.left_behind(_SWEEP_TIMEOUT_S)
        survey.checks(full=True)
        self._tell(survey.problems + sides.problems)
        self._round.ledger.settle(found)
        self._say(settled=found)

    def _documents(self, survey: Survey) -> dict[str, str]:
        """States of documents and collections by the ledger's keys; one that isn't in the ledger by its source."""
        facts = self._round.ledger.facts
        states = survey.documents()
        keys = {key.split(":", 2)[2]: key for key in facts if key.startswith("document:")}
        found = {keys.get(source, source): state for source, state in states.items()}
        found |= {key: "gone" for source, key in keys.items() if source not in states}
        return found | survey.collections(self._round.ledger)

    def _compare(self, found: dict[str, str], when: str) -> None:
        """States by key with what may be `now` or must be `then`."""
        for key, state in found.items():
            fact = self._round.ledger.facts.get(key)
            allowed = getattr(fact, when) if fact else set()
            if state.startswith("answered:") and "asked" in allowed:
                continue  # asked and answered meanwhile
            if state not in allowed:
                what = "lost" if state == "gone" or allowed == {"gone"} else "wrong"
                self._tell([f"{what}: {key} is {state!r} ({when}) and may be {sorted(allowed)}"])

    def _report(self, how: str, key: str, state: str, about: dict | None = None) -> None:
        self._say(fact=[how, key, state, about])
        self._round.ledger.apply(how, key, state, about)

    def _begin(self) -> None:
        self._say(begin=self._operation)
        self._passed, self._armed = {}, True

    def _tell(self, problems: Sequence[str]) -> None:
        for problem in problems:
            self._say(problem=problem)

    def _say(self, **message: object) -> None:
        with self._lock:
            os.write(self._pipe, json.dumps(message).encode() + b"\n")


def _age(folder: Path) -> None:
    """As if the last process had been killed a day ago: only then may leftovers be swept."""
    long_ago = time.time() - A_DAY_S
    for path in folder.rglob("*"):
        if not path.name.startswith("footnote.db"):
            os.utime(path, (long_ago, long_ago))
    database = folder / "data" / "footnote.db"
    if database.exists() and database.stat().st_size:
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute(f"UPDATE texts SET seen = seen - {A_DAY_S} WHERE building != ''")

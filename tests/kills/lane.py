"""The parent's side: starts a victim on the folder that the last one left, kills it, keeps the ledger."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random
import select
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.kills.contents import Content
from tests.kills.ledger import Ledger
from tests.kills.victim import Round, Target, Victim

_ROUND_TIMEOUT_S = 180.0
_MARK = "FOOTNOTE_TEST_ROUND"  # in the environment of whatever a victim starts
_WORKER_MAY_LIVE_S = 20.0


@dataclass(frozen=True)
class Kill:
    """What is to be killed where: at `target`, or `delay_s` after the operations began (or, `while_starting`, after the
    process did)."""

    plan: tuple[str, ...]
    target: Target | None = None
    delay_s: float = 0.0
    while_starting: bool = False
    max_segment_tokens: int = 300


@dataclass
class Killed:
    """What a victim told until it was killed. `at`: the operation, and the point where it was a target."""

    at: str
    operation: str
    problems: list[str] = field(default_factory=list)
    points: list[Target] = field(default_factory=list)
    reached: bool = True
    seconds: float = 0.0


class Lane:
    """Victims one after another on one folder; a new folder after every problem."""

    def __init__(
        self, folder: Path, contents: Sequence[Content], expected: Mapping[str, set[str]], *, model: str, seed: int
    ) -> None:
        self._base, self._model, self._contents, self._expected = folder, model, tuple(contents), expected
        self._random = random.Random(seed)
        self._folders = self._rounds = 0
        self._begin_anew()

    def kill(self, kill: Kill) -> Killed:
        """Starts a victim, which looks at what the last one left, and kills it."""
        started = time.monotonic()
        self._rounds += 1
        mark = f"{os.getpid()}-{self._rounds}"
        round = Round(
            self._folder,
            copy.deepcopy(self._ledger),
            self._contents,
            self._expected,
            kill.plan,
            self._random.getrandbits(32),
            kill.target,
            self._model,
            kill.max_segment_tokens,
        )
        pid, pipe = _start(round, mark)
        told = _Listener(pipe, self._ledger, kill)
        try:
            told.until_killed(pid)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            told.rest()
            os.close(pipe)
        killed = told.killed(time.monotonic() - started)
        killed.problems += _left_over(mark)
        if killed.problems:
            self._begin_anew()
        return killed

    def look(self) -> Killed:
        """A victim that only looks, after the last kill."""
        return self.kill(Kill(()))

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _begin_anew(self) -> None:
        self._folders += 1
        self._folder = self._base / f"folder-{self._folders}"
        self._folder.mkdir(parents=True)
        self._ledger = Ledger()


class _Listener:
    """Reads what the victim says, tells the ledger, and kills at the moment that was chosen."""

    def __init__(self, pipe: int, ledger: Ledger, kill: Kill) -> None:
        self._pipe, self._ledger, self._kill = pipe, ledger, kill
        self._unread = b""
        self._operation = "start"
        self._is_over = self._has_target_passed = False
        self._problems: list[str] = []
        self._points: list[Target] = []
        self._kill_at = time.monotonic() + kill.delay_s if kill.while_starting else None

    def until_killed(self, pid: int) -> None:
        give_up = time.monotonic() + _ROUND_TIMEOUT_S
        while not self._is_over:
            now = time.monotonic()
            if self._kill_at is not None and now >= self._kill_at:
                os.killpg(pid, signal.SIGKILL)
                return
            if now > give_up:
                self._problems.append(f"the process did not come to its end in {_ROUND_TIMEOUT_S:g} s")
                return
            wait = 0.5 if self._kill_at is None else max(0.0, self._kill_at - now)
            if select.select([self._pipe], [], [], wait)[0]:
                self._read()

    def rest(self) -> None:
        while self._read():
            pass

    def killed(self, seconds: float) -> Killed:
        target = self._kill.target
        at = f"{target.point} ({target.nth})" if target else "a random moment"
        reached = target is None or (bool(self._points) and self._points[-1] == target)
        return Killed(at, self._operation, self._problems, self._points, reached, seconds)

    def _read(self) -> bool:
        data = os.read(self._pipe, 1 << 16)
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            self._hear(json.loads(line))
        self._is_over = self._is_over or not data
        return bool(data)

    def _hear(self, message: dict) -> None:
        match message:
            case {"fact": [how, key, state, about]}:
                self._ledger.apply(how, key, state, about)
            case {"settled": found}:
                self._ledger.settle(found)
            case {"point": point, "nth": nth, "operation": operation}:
                self._points.append(Target(operation, point, nth))
            case {"begin": name}:
                self._operation = name
                if self._kill_at is None and self._kill.target is None and self._kill.delay_s:
                    self._kill_at = time.monotonic() + self._kill.delay_s
            case {"problem": sentence}:
                self._problems.append(sentence)
                self._is_over = self._is_over or sentence.startswith("unexpected")
            case {"finished": True}:
                self._is_over = True


def _start(round: Round, mark: str) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            os.setpgid(0, 0)
            os.environ[_MARK] = mark
            Victim(round, writing).run()
        finally:
            os._exit(1)  # nothing of the parent's may go on here, whatever went wrong
    os.close(writing)
    with contextlib.suppress(PermissionError):
        os.setpgid(pid, pid)  # both do, so that neither depends on who is first
    return pid, reading


def _left_over(mark: str) -> list[str]:
    """Processes that the victim started and that outlive it."""
    deadline = time.monotonic() + _WORKER_MAY_LIVE_S
    while found := [process for process in psutil.process_iter() if _mark_of(process) == mark]:
        if time.monotonic() > deadline:
            for process in found:
                process.kill()
            return [f"left running: {' '.join(process.cmdline())}" for process in found]
        time.sleep(0.02)
    return []


def _mark_of(process: psutil.Process) -> str:
    try:
        return process.environ().get(_MARK, "")
    except psutil.Error:
        return ""

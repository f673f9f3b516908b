"""A second process on the same data folder, with all services of the app: reads commands as JSON lines, answers each.

python -m tests.kills.peer DATA [CHAT_MODEL]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.bootstrap import Services, build_services
from core.records import MESSAGE_ENDED
from core.settings import Settings

_ROOT = Path(__file__).parents[2]


def open_services(data: Path, chat_model: str = "echo") -> Services:
    services = build_services(Settings(data=data, chat_model=chat_model, embedding_model="hashing"))
    services.start()
    return services


def add(services: Services, name: str, text: str) -> int:
    """Replaces what the name held; returns the document's id once it's indexed, by whichever process."""
    batch = uuid.uuid4().hex
    services.library.add_bytes(name, text.encode(), source=name, on_conflict="replace", batch=batch)
    services.indexing.run_until_idle(batch)
    (job,) = services.library.jobs(batch=batch)
    return job.result["document_id"]


def delete(services: Services, document_id: int) -> int:
    return services.library.delete(document_id).id


def undelete(services: Services, document_id: int) -> int:
    return services.library.undelete(document_id).id


def reindex(services: Services, document_id: int) -> str:
    job = services.library.reindex(document_id)
    while (found := next(one for one in services.library.jobs() if one.id == job.id)).state in ("waiting", "running"):
        services.indexing.run_until_idle()
    return found.state


def rename(services: Services, name: str, new_name: str) -> str:
    services.library.rename_collection(name, new_name)
    return new_name


def ask(services: Services, question: str) -> str:
    return services.chat.answer_now(question).state


def begin_answer(services: Services, question: str) -> dict[str, Any]:
    """Returns in the middle of it: as soon as a part of its text is saved."""
    conversation = services.chat.create().id
    _, answer = services.chat.ask(conversation, question, request_key=uuid.uuid4().hex)
    while not (message := services.chat.message(answer.id)).text or message.state != "writing":
        if message.state in MESSAGE_ENDED:
            raise RuntimeError(f"the answer was over before it was begun: {message.state} {message.reason}")
        time.sleep(0.01)
    return {"conversation": conversation, "text": message.text, "sources": len(message.sources)}


def find(services: Services, words: str) -> dict[str, int]:
    """Segments that each leg finds with all these words. Both must agree."""
    found = {}
    for retriever in ("vector", "keyword"):
        contents = services.search.search(words, retriever=retriever, limit=1000).contents
        found[retriever] = sum(all(word in one.segment.text.split() for word in words.split()) for one in contents)
    return found


def check(services: Services) -> list[str]:
    return [problem.message for problem in services.maintenance.check()]


COMMANDS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (add, delete, undelete, reindex, rename, ask, begin_answer, find, check)
}


class Peer:
    """Starts the other process. `send` doesn't wait, so that both work at the same time; `answer` does."""

    def __init__(self, data: Path, chat_model: str = "echo") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kills.peer", str(data), chat_model],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, command: str, *values: Any) -> None:
        self._process.stdin.write(json.dumps([command, *values]) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """raises EOFError where it ended"""
        line = self._process.stdout.readline()
        if not line:
            raise EOFError("the other process ended; its error is above")
        return json.loads(line)

    def __call__(self, command: str, *values: Any) -> Any:
        self.send(command, *values)
        return self.answer()

    def kill(self) -> None:
        """With SIGKILL, in the middle of whatever it does."""
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def close(self) -> int:
        """Returns its exit status."""
        self._process.stdin.close()
        self._process.stdout.read()
        self._process.stdout.close()
        return self._process.wait(timeout=60)


def main() -> None:
    services = open_services(Path(sys.argv[1]), *sys.argv[2:])
    for line in sys.stdin:
        command, *values = json.loads(line)
        sys.stdout.write(json.dumps(COMMANDS[command](services, *values)) + "\n")
        sys.stdout.flush()
    services.close()


if __name__ == "__main__":
    main()

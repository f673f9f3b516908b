"""What is done to everything that is no document: conversations, settings, backups, folders of their own. As in
`operations.py`, what comes after `world.begins()` may be killed."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from core.bootstrap import build_services
from core.records import MESSAGE_ENDED, MessageRecord
from core.settings import Settings
from storage.backup import restore_backup
from storage.database import Database
from tests.kills.contents import COMMON
from tests.kills.operations import World, _one_more, _some

OLD_DATABASE = Path(__file__).parents[1] / "storage" / "format-0001.db.gz"
_ANSWER_TIMEOUT_S = 60.0


def digest(answer: MessageRecord) -> str:
    """Of all that people see of an answer."""
    shown = [answer.state, answer.text, [[source.number, source.text] for source in answer.sources]]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16]


def ask(world: World) -> None:
    _some(world)
    key, chat = world.new_name("q"), world.services.chat
    turns = [fact.about["conversation"] for fact in world.ledger.facts.values() if "conversation" in fact.about]
    conversation = world.random.choice(turns) if turns and world.random.random() < 0.5 else chat.create().id
    text = f"Which {COMMON}" + "?" * (1 + turns.count(conversation))  # another one in each conversation
    world.begins()
    world.report("may", f"turn:{key}", "asked", {"conversation": conversation, "text": text})
    _, answer = chat.ask(conversation, text, request_key=key)
    world.report("is", f"turn:{key}", "asked")
    answer = ended(world.services, answer.id)
    if answer.state == "complete":
        world.report("is", f"turn:{key}", f"answered:{digest(answer)}")


def forget(world: World) -> None:
    """Deletes a conversation that has a turn."""
    chat, name = world.services.chat, world.new_name("q")
    key, conversation = f"turn:{name}", chat.create().id
    world.report("may", key, "asked", {"conversation": conversation, "text": f"Is there any {COMMON}?"})
    _, answer = chat.ask(conversation, f"Is there any {COMMON}?", request_key=name)
    ended(world.services, answer.id)
    world.report("is", key, "asked")
    world.begins()
    world.report("may", key, "gone")
    chat.delete(conversation)
    world.report("is", key, "gone")


def settings(world: World) -> None:
    value = str(world.random.randrange(1, 10**6))
    world.begins()
    world.report("may", "setting:seed", value)
    world.services.preferences.save("seed", int(value))
    world.report("is", "setting:seed", value)


def backup(world: World) -> None:
    """Into a folder where a killed one may have left something."""
    _some(world)
    name = world.new_name("backup")
    states = {key: world.ledger.state(key) for key in world.ledger.keys("document", "live:")}
    world.begins()
    world.report("may", f"backup:{name}", "whole", {"documents": states})
    world.services.maintenance.backup(backup_path(world.folder, name))
    world.report("is", f"backup:{name}", "whole")


def restore(world: World) -> None:
    _some(world)
    name = world.new_name("restored")
    target = backup_path(world.folder, name)
    world.services.maintenance.backup(target)
    states = {key: world.ledger.state(key) for key in world.ledger.keys("document", "live:")}
    world.begins()
    world.report("may", f"restored:{name}", "whole", {"documents": states})
    restore_backup(target, world.folder / name, fault=world.fault)
    world.report("is", f"restored:{name}", "whole")


def upgrade(world: World) -> None:
    """Opens a database of the oldest format: it must be whole at any time, in the old format or the new one."""
    name = world.new_name("old")
    folder = world.folder / name
    folder.mkdir()
    (folder / "footnote.db").write_bytes(gzip.decompress(OLD_DATABASE.read_bytes()))
    world.begins()
    world.report("is", f"old:{name}", "whole")
    Database(folder, fault=world.fault).close()


def first_start(world: World) -> None:
    name = world.new_name("new")
    world.begins()
    world.report("is", f"new:{name}", "whole")
    build_services(
        Settings(data=world.folder / name, chat_model="echo", embedding_model="hashing"), fault=world.fault
    ).close()


def close(world: World) -> None:
    """The app ends in the middle of a file and with an index file to be written. Nothing can be done after it."""
    _some(world)
    world.services.search.search(COMMON, retriever="vector")
    content, key = world.fresh(), f"document:{_some(world).split(':')[1]}:{world.new_name('e')}"
    world.begins()
    world.add(content, key)
    world.services.close()


def leave_work(world: World) -> None:
    """Files and a question, and at once it ends: for the process that is killed while it starts."""
    _one_more(world, world.fresh())
    key = world.new_name("q")
    conversation = world.services.chat.create().id
    world.begins()
    for _ in range(4):
        world.add(world.fresh(), f"document:{_some(world).split(':')[1]}:{world.new_name('l')}")
    world.report("may", f"turn:{key}", "asked", {"conversation": conversation, "text": f"Which {COMMON}?"})
    world.services.chat.ask(conversation, f"Which {COMMON}?", request_key=key)
    world.report("is", f"turn:{key}", "asked")
    os.kill(os.getpid(), signal.SIGKILL)


OTHER_OPERATIONS: Mapping[str, Callable[[World], None]] = {
    "ask": ask,
    "forget": forget,
    "settings": settings,
    "backup": backup,
    "restore": restore,
    "upgrade": upgrade,
    "first start": first_start,
    "close": close,
}


def ended(services, message_id: int) -> MessageRecord:
    deadline = time.monotonic() + _ANSWER_TIMEOUT_S
    while (answer := services.chat.message(message_id)).state not in MESSAGE_ENDED:
        if time.monotonic() > deadline:
            raise TimeoutError(f"answer {message_id} is still {answer.state}")
        time.sleep(0.01)
    return answer


def backup_path(folder: Path, name: str) -> Path:
    (folder / "backups").mkdir(exist_ok=True)
    return folder / "backups" / f"{name}.zip"

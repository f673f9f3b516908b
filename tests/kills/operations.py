"""What is done to documents. Each operation first makes ready what it needs, then says `world.begins()`: from there on
it may be killed, and whatever it says to the ledger is what a person would have been told."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.bootstrap import Services
from core.records import JobRecord
from tests.kills.contents import LONG, Content, content_named
from tests.kills.ledger import Ledger

MOST_DOCUMENTS, MOST_DELETED = 10, 4


@dataclass
class World:
    """What operations work on. `report(how, key, state, about)` goes to the ledgers; `begins()` arms the kill."""

    services: Services
    ledger: Ledger
    contents: tuple[Content, ...]
    folder: Path  # holds the data folder and what lies beside it
    report: Callable[..., None]
    begins: Callable[[], None]
    random: random.Random
    fault: Callable[[str], None]
    made: list[int] = field(default_factory=lambda: [0])

    def new_name(self, kind: str) -> str:
        """One that was never used on this folder."""
        self.made[0] += 1
        return f"{kind}-{self.random.getrandbits(40):010x}-{self.made[0]}"

    def fresh(self, *, long: bool = False) -> Content:
        """Content that nothing holds at this moment."""
        held = {_content(state) for fact in self.ledger.facts.values() for state in fact.now}
        free = [one for one in self.contents if one.name not in held and (one.sentences > LONG) == long]
        return self.random.choice(free)

    def documents(self, state: str = "live:") -> list[str]:
        """Those of collections that are there."""
        keys = self.ledger.keys("document", state)
        return [key for key in keys if f"collection:{key.split(':')[1]}" in self.ledger.facts]

    def record_of(self, key: str):
        source = key.split(":", 2)[2]
        (found,) = [record for record in self.services.library.documents() if record.source == source]
        return found

    def add(self, content: Content, key: str, *, on_conflict: str = "keep_both") -> JobRecord:
        _, token, source = key.split(":", 2)
        (collection,) = self.ledger.facts[f"collection:{token}"].now
        self.report("may", key, f"live:{content.name}")
        job = self.services.library.add_bytes(
            f"{source}.{content.kind}", content.data, collection=collection, source=source, on_conflict=on_conflict
        )
        self.report("will", key, f"live:{content.name}")
        return job

    def until_idle(self, key: str, state: str) -> None:
        self.services.indexing.run_until_idle()
        self.report("is", key, state)


def _content(state: str) -> str:
    return state.partition(":")[2]


def upload(world: World) -> None:
    _one_more(world, world.fresh())


def upload_long(world: World) -> None:
    for key in world.documents():  # long ones are few; one of them at a time
        if _is_long(world, key):
            _delete_for_good(world, key)
    _one_more(world, world.fresh(long=True))


def duplicate(world: World) -> None:
    """The content of a document that is there, or of one that was deleted, under another name."""
    key = _some(world, "deleted:" if world.random.random() < 0.4 else "live:")
    _one_more(world, content_named(_content(world.ledger.state(key))), token=key.split(":")[1])


def replace(world: World) -> None:
    key = _some(world)
    old = content_named(_content(world.ledger.state(key)))
    new = Content(old.kind, old.number, 3 - old.version, old.sentences) if old.sentences <= LONG else world.fresh()
    world.begins()
    world.add(new, key, on_conflict="replace")
    world.until_idle(key, f"live:{new.name}")


def reindex(world: World) -> None:
    _reindex(world, _some(world, long=False))


def reindex_long(world: World) -> None:
    if not any(_is_long(world, key) for key in world.documents()):
        key = f"document:a:{world.new_name('g')}"
        content = world.fresh(long=True)
        _ensure_collection(world, "a")
        world.add(content, key)
        world.until_idle(key, f"live:{content.name}")
    _reindex(world, next(key for key in world.documents() if _is_long(world, key)))


def stop(world: World) -> None:
    """A file that is stopped at once may be there or not, but whole."""
    content, key = world.fresh(), f"document:a:{world.new_name('s')}"
    _ensure_collection(world, "a")
    world.begins()
    job = world.add(content, key)
    world.report("may", key, "gone")
    world.services.library.stop_job(job.id)
    world.services.indexing.run_until_idle()
    world.services.library.clear_ended_jobs()


def delete(world: World) -> None:
    key = _some(world)
    record, content = world.record_of(key), _content(world.ledger.state(key))
    world.begins()
    world.report("may", key, f"deleted:{content}", {"id": record.id})
    world.services.library.delete(record.id)
    world.report("is", key, f"deleted:{content}")


def undelete(world: World) -> None:
    key = _some(world, "deleted:")
    content = _content(world.ledger.state(key))
    world.begins()
    world.report("may", key, f"live:{content}")
    record = world.services.library.undelete(world.ledger.facts[key].about["id"])
    if record.id != world.ledger.facts[key].about["id"]:
        raise AssertionError("an undeleted document has another id")
    world.report("is", key, f"live:{content}")


def purge(world: World) -> None:
    key = _some(world, "deleted:")
    world.begins()
    world.report("may", key, "gone")
    world.services.library.purge_deleted([world.ledger.facts[key].about["id"]])
    world.report("is", key, "gone")


def rename_collection(world: World) -> None:
    token = _some(world).split(":")[1]
    (name,) = world.ledger.facts[f"collection:{token}"].now
    new_name = world.new_name("collection")
    world.begins()
    world.report("may", f"collection:{token}", new_name)
    world.services.library.rename_collection(name, new_name)
    world.report("is", f"collection:{token}", new_name)


def delete_collection(world: World) -> None:
    """Of one that has two documents: both are gone, or none."""
    token = world.new_name("t")
    keys = [f"document:{token}:{world.new_name('c')}" for _ in range(2)]
    _ensure_collection(world, token)
    for key in keys:
        content = world.fresh()
        world.add(content, key)
        world.until_idle(key, f"live:{content.name}")
    (name,) = world.ledger.facts[f"collection:{token}"].now
    before = {key: (world.record_of(key).id, _content(world.ledger.state(key))) for key in keys}
    world.begins()
    for key, (document_id, content) in before.items():
        for state in (f"deleted:{content}", "gone"):
            world.report("may", key, state, {"id": document_id})
    world.report("may", f"collection:{token}", "gone", {"documents": list(before)})
    world.services.library.delete_collection(name)
    world.report("is", f"collection:{token}", "gone")


def tidy(world: World) -> None:
    """Keeps the library small: nothing is killed here."""
    kept = world.documents("deleted:")[:MOST_DELETED]
    for key in set(world.ledger.keys("document", "deleted:")) - set(kept):
        _purge_now(world, key)
    for key in world.documents()[MOST_DOCUMENTS:]:
        _delete_for_good(world, key)


OPERATIONS: Mapping[str, Callable[[World], None]] = {
    "upload": upload,
    "upload long": upload_long,
    "duplicate": duplicate,
    "replace": replace,
    "re-index": reindex,
    "re-index long": reindex_long,
    "stop": stop,
    "delete": delete,
    "undelete": undelete,
    "purge": purge,
    "rename collection": rename_collection,
    "delete collection": delete_collection,
}


def _reindex(world: World, key: str) -> None:
    world.begins()
    world.services.library.reindex(world.record_of(key).id)
    world.until_idle(key, world.ledger.state(key))


def _is_long(world: World, key: str) -> bool:
    return content_named(_content(world.ledger.state(key))).sentences > LONG


def _one_more(world: World, content: Content, *, token: str | None = None) -> None:
    token = token or world.random.choice("ab")
    _ensure_collection(world, token)
    key = f"document:{token}:{world.new_name('d')}"
    world.begins()
    world.add(content, key)
    world.until_idle(key, f"live:{content.name}")


def _some(world: World, state: str = "live:", *, long: bool = True) -> str:
    """A document in this state; made where there is none. long: it may be a long one"""
    found = [key for key in world.documents(state) if long or not _is_long(world, key)]
    if not found:
        content, key = world.fresh(), f"document:a:{world.new_name('p')}"
        _ensure_collection(world, "a")
        world.add(content, key)
        world.until_idle(key, f"live:{content.name}")
        if state == "deleted:":
            document_id = world.record_of(key).id
            world.services.library.delete(document_id)
            world.report("is", key, f"deleted:{content.name}", {"id": document_id})
        return key
    return world.random.choice(found)


def _ensure_collection(world: World, token: str) -> None:
    if f"collection:{token}" not in world.ledger.facts:
        name = world.new_name("collection")
        world.report("may", f"collection:{token}", name)
        world.services.library.add_collection(name)
        world.report("is", f"collection:{token}", name)


def _delete_for_good(world: World, key: str) -> None:
    record, content = world.record_of(key), _content(world.ledger.state(key))
    world.report("may", key, f"deleted:{content}", {"id": record.id})
    world.services.library.delete(record.id)
    world.report("is", key, f"deleted:{content}")
    _purge_now(world, key)


def _purge_now(world: World, key: str) -> None:
    world.report("may", key, "gone")
    world.services.library.purge_deleted([world.ledger.facts[key].about["id"]])
    world.report("is", key, "gone")

"""What is there of everything that is no document: turns, settings, backups, folders beside the data folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from core.bootstrap import Services, build_services
from core.errors import NotFoundError
from core.records import MESSAGE_ENDED
from core.settings import Settings
from storage.backup import restore_backup
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore
from tests.kills.ledger import Fact, Ledger
from tests.kills.other_operations import backup_path, digest, ended


class Sides:
    def __init__(self, services: Services, ledger: Ledger, folder: Path) -> None:
        self._services, self._ledger, self._folder = services, ledger, folder
        self.problems: list[str] = []

    def turns(self, *, all_done: bool) -> dict[str, str]:
        """key -> gone, asked, or answered:<digest>. With `all_done`, what was asked half is asked again first: a page
        sends the same request key again, and there must be one turn of it."""
        found: dict[str, str] = {}
        for key, fact in self._facts("turn"):
            if all_done and len(fact.now) > 1 and "asked" in fact.now:
                self._ask_again(key, fact)
            found[key] = self._turn(key, fact, all_done)
        return found

    def settings(self) -> dict[str, str]:
        """What is as it was at first was never saved: no operation saves that."""
        knobs = {f"setting:{knob.name}": knob for knob in self._services.preferences.describe()}
        found = {key: knobs[key] for key, _ in self._facts("setting")}
        return {key: "gone" if knob.saved == knob.default else str(knob.saved) for key, knob in found.items()}

    def beside(self) -> dict[str, str]:
        """Looks at backups, restored, old and new folders, once: whole, or gone. What was looked at is removed."""
        found = {}
        for key, fact in [*self._facts("backup"), *self._facts("restored"), *self._facts("old"), *self._facts("new")]:
            kind, name = key.split(":")
            look = {"backup": self._backup, "restored": self._restored, "old": self._old, "new": self._new}[kind]
            there = look(name, fact)
            if not there and fact.now == {"whole"}:
                self.problems.append(f"lost: {key} was reported done, and is not there")
            found[key] = "gone"
        return found

    # ── inside ──

    def _facts(self, kind: str) -> Iterator[tuple[str, Fact]]:
        return iter([(key, fact) for key, fact in self._ledger.facts.items() if key.startswith(f"{kind}:")])

    def _ask_again(self, key: str, fact: Fact) -> None:
        try:
            self._services.chat.conversation(fact.about["conversation"])
        except NotFoundError:
            return  # it was being deleted
        request_key = key.removeprefix("turn:")
        _, answer = self._services.chat.ask(fact.about["conversation"], fact.about["text"], request_key=request_key)
        ended(self._services, answer.id)

    def _turn(self, key: str, fact: Fact, all_done: bool) -> str:
        try:
            messages = self._services.chat.messages(fact.about["conversation"])
        except NotFoundError:
            return "gone"
        questions = [one for one in messages if one.role == "user" and one.text == fact.about["text"]]
        if not questions:
            return "gone"
        answers = [one for one in messages if one.reply_to == questions[0].id]
        if len(questions) != 1 or len(answers) != 1:
            self.problems.append(f"{key} has {len(questions)} questions and {len(answers)} answers")
            return "gone"
        (question,), (answer,) = questions, answers
        if answer.state in ("failed", "cut") or (answer.state == "complete" and not answer.text):
            self.problems.append(f"{key} ended as {answer.state}: {answer.reason}")
        if all_done and answer.state not in MESSAGE_ENDED:
            self.problems.append(f"lost: {key} is still {answer.state}")
        remembered = (question.memory_text is not None, answer.memory_text is not None)
        if (
            answer.state == "complete"
            and answer.record.get("model")
            and not answer.record["refused"]
            and not all(remembered)
        ):
            self.problems.append(f"lost: {key} is complete and memory has {remembered} of it")
        is_known = any(state.startswith("answered") for state in fact.now)
        return f"answered:{digest(answer)}" if is_known or (all_done and answer.state in MESSAGE_ENDED) else "asked"

    def _backup(self, name: str, fact: Fact) -> bool:
        """Another one into the same folder must clear away what a killed one left there."""
        path = backup_path(self._folder, name)
        there = path.exists()
        if there:
            restored = self._folder / f"look-{name}"
            restore_backup(path, restored)
            self._look_into(restored, fact)
            path.unlink()
        if fact.now != {"whole"}:
            self._services.maintenance.backup(path)
            left = sorted(one.name for one in path.parent.iterdir() if one.suffix != ".zip")
            if left:
                self.problems.append(f"left behind beside backups: {left}")
            path.unlink()
        return there

    def _restored(self, name: str, fact: Fact) -> bool:
        target = self._folder / name
        there = target.exists()
        if not there:
            restore_backup(backup_path(self._folder, name), target)
        self._look_into(target, fact)
        # A folder that is empty by now is no copy of anything.
        left = [one.name for one in self._folder.iterdir() if name in one.name and any(one.iterdir())]
        if left:
            self.problems.append(f"left behind beside a restored folder: {left}")
        backup_path(self._folder, name).unlink()
        return there

    def _old(self, name: str, fact: Fact) -> bool:
        folder = self._folder / name
        with Database(folder) as database:
            documents = SqliteDocumentStore(database, LocalFileStore(folder))
            rows = [(row.name, row.collection, row.segments) for row in documents.list()]
            if rows != [("staff.txt", "default", 2), ("config.yaml", "home", 1)]:
                self.problems.append(f"lost: the old database holds {rows} after its upgrade")
            if documents.text(1).text != "The office cat is Mira.\nShe sleeps on the printer.\n":
                self.problems.append("lost: a text of the old database is another one after its upgrade")
        copies = [path.name for path in (folder / "backups").iterdir()]
        if not any(copy.endswith(".db") for copy in copies):
            self.problems.append(f"an old database was upgraded without a copy: {copies}")
        self._look_into(folder, None)
        return True

    def _new(self, name: str, fact: Fact) -> bool:
        folder = self._folder / name
        if folder.exists():
            self._look_into(folder, None)
        return True

    def _look_into(self, folder: Path, fact: Fact | None) -> None:
        """Opens a folder as the app does, and removes it."""
        model = self._services.settings.embedding_model
        services = build_services(Settings(data=folder, chat_model="echo", embedding_model=model))
        try:
            if fact is not None:
                there = {record.source: record.content_hash for record in services.library.documents()}
                lost = [key for key in fact.about["documents"] if key.split(":", 2)[2] not in there]
                if lost:
                    self.problems.append(f"lost: {folder.name} doesn't hold {lost[:3]}")
                self.problems += [f"check of {folder.name}: {found.message}" for found in services.maintenance.check()]
        finally:
            services.close()
        shutil.rmtree(folder)

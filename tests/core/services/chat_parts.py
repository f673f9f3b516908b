"""A chat service on a real database, with the echo model and a retriever of fixed contents."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack

from core.chat_models.echo import EchoChatModel
from core.domain import Content, TextSegment
from core.gate import PriorityGate
from core.rag.augmentor import DefaultRetrievalAugmentor
from core.records import MESSAGE_ENDED
from core.services.chat import ChatService
from core.services.chat_model import ChatModelOwner
from core.services.turn_runner import TurnRunner
from core.settings import Settings
from storage.conversations import SqliteConversationStore
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore
from tests.storage.making import new_document

FEE = "You can cancel until 48 hours before arrival. After that the fee is 25 euros."
MENU = "Breakfast is served from 7 to 10. It is free for children."


def content(text, id, name="policy.txt", **scores):
    return Content(TextSegment.from_text(text, {"file_name": name}), id=id, document_id=1, scores=scores)


class Shelf:
    """A retriever with fixed contents. `gate` holds it back; the queries it was asked are kept."""

    def __init__(self, *contents):
        self.contents, self.queries = list(contents), []
        self.gate = threading.Event()
        self.gate.set()

    def retrieve(self, query):
        self.queries.append(query)
        self.gate.wait(10)
        return self.contents


class CountedModel(EchoChatModel):
    """Echo that counts its loads, and how many are inside it at once."""

    def __init__(self, **options):
        super().__init__(**options)
        self.loads = self.inside = self.most_inside = self.closes = 0

    def load(self):
        self.loads += 1
        time.sleep(0.05)

    def close(self):
        self.closes += 1

    def stream(self, request, stop=None):
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        try:
            yield from super().stream(request, stop)
        finally:
            self.inside -= 1


class Rig:
    """`rig.service` and all that stands under it, on one data folder."""

    def __init__(
        self,
        folder,
        *,
        model=None,
        open_model=None,
        contents=None,
        with_document=True,
        refusal=None,
        figures=None,
        **knobs,
    ):
        self._closing = ExitStack()
        self.database = self._closing.enter_context(Database(folder))
        self.store = SqliteConversationStore(self.database)
        self.documents = SqliteDocumentStore(self.database, LocalFileStore(folder))
        if with_document and not self.documents.count():
            self.documents.save(new_document(f"{FEE}\n{MENU}\n", "policy.txt"))
        self.model = model or EchoChatModel()
        self.shelf = Shelf(*(contents if contents is not None else [content(FEE, "fee"), content(MENU, "menu")]))
        self.settings = Settings(data=folder, chat_model="echo", **knobs)
        self.owner = ChatModelOwner("echo", open_model or (lambda: self.model))
        self.runner = TurnRunner(
            self.settings,
            self.store,
            self.owner,
            DefaultRetrievalAugmentor(content_retriever=self.shelf),
            self.documents,
            PriorityGate(),
            refusal=refusal,
            figures=figures,
        )
        self.service = ChatService(self.settings, self.store, self.owner, self.runner)
        self._closing.callback(self.service.close)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._closing.close()

    def start(self):
        self.service.start()
        return self

    def ask(self, text, conversation=None, key=None):
        """(conversation id, waiting answer)"""
        conversation = conversation or self.service.create().id
        return conversation, self.service.ask(conversation, text, request_key=key or f"{conversation}{text}")[1]

    def answered(self, text, conversation=None):
        conversation, answer = self.ask(text, conversation)
        return conversation, self.ended(answer.id)

    def ended(self, message_id, timeout_s=10.0):
        return self.until(message_id, lambda message: message.state in MESSAGE_ENDED, timeout_s)

    def until(self, message_id, is_true, timeout_s=10.0):
        deadline = time.monotonic() + timeout_s
        while not is_true(message := self.service.message(message_id)):
            if time.monotonic() > deadline:
                raise AssertionError(f"still {message.state}: {message.text!r} {message.record}")
            time.sleep(0.01)
        return message

"""Assistant: a chat model, a memory and your documents behind two methods, `chat` and `stream`.

text -> query -> contents -> prompt, packed into the model's context -> reply -> memory

assistant = Assistant(chat_model, content_retriever=EmbeddingStoreContentRetriever.from_store(store))
assistant.chat("When can I cancel?").content
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from core.domain import ChatMessage, ChatRequest, Content
from core.errors import ConfigError, FootnoteError, StoppedError
from core.events import Complete, Event, Failed, Partial, Result, Retrieved
from core.memory import MessageWindowChatMemory
from core.protocols import ChatMemory, ChatModel, ContentInjector, ContentRetriever, StopSignal
from core.query import InvocationParameters, Query, QueryMetadata
from core.rag.injectors import DefaultContentInjector
from core.rag.prompt import PackedPrompt, PromptPacker
from core.rag.reply import stream_reply

DEFAULT_MEMORY_MESSAGES = 10


class RetrievalAugmentor(Protocol):
    """What an assistant needs of it: `.contents` of what it returns, and `.trace` where there is one."""

    def augment(self, query: Query) -> Any: ...


class Assistant:
    """Answers from documents and remembers the conversation.

    chat_memory | chat_memory_provider        one memory, or a function that gives one for each memory id; 10 messages
                                              by default
    content_retriever | retrieval_augmentor   where contents come from; neither: the model answers alone
    store_retrieved_content_in_chat_memory    keep each question with its contents (True), or as it was asked (False)
    system_message                            rules in front of everything; a system message in the memory wins
    content_injector                          how question and contents become one message; the augmentor's by default
    source_tokens, max_answer_tokens          most tokens of sources, and the room for the answer
    raises                                    ConfigError when both of a pair are given
    """

    def __init__(
        self,
        chat_model: ChatModel,
        *,
        chat_memory: ChatMemory | None = None,
        chat_memory_provider: Callable[[str], ChatMemory] | None = None,
        content_retriever: ContentRetriever | None = None,
        retrieval_augmentor: RetrievalAugmentor | None = None,
        store_retrieved_content_in_chat_memory: bool = True,
        system_message: str = "",
        content_injector: ContentInjector | None = None,
        source_tokens: int = 1500,
        max_answer_tokens: int = 512,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> None:
        if chat_memory is not None and chat_memory_provider is not None:
            raise ConfigError("give an assistant chat_memory or chat_memory_provider, not both")
        if content_retriever is not None and retrieval_augmentor is not None:
            raise ConfigError("give an assistant content_retriever or retrieval_augmentor, not both")
        self._model = chat_model
        self._one_memory = chat_memory
        self._provide_memory = chat_memory_provider or _memory_of_ten
        self._memories: dict[str, ChatMemory] = {}
        self._retriever, self._augmentor = content_retriever, retrieval_augmentor
        self._store_contents = store_retrieved_content_in_chat_memory
        self._system_message = system_message
        injector = content_injector or getattr(retrieval_augmentor, "content_injector", None)
        self._packer = PromptPacker(
            chat_model,
            injector or DefaultContentInjector(),
            source_tokens=source_tokens,
            answer_tokens=max_answer_tokens,
            # The memory has its own window; here only the context limits it.
            memory_messages=1_000_000,
            memory_tokens=chat_model.context_tokens,
        )
        self._sampling = {"temperature": temperature, "seed": seed}

    def memory(self, memory_id: str | None = None) -> ChatMemory:
        """The memory of a conversation; without an id, the one that all calls without an id share."""
        if self._one_memory is not None:
            return self._one_memory
        return self._memories.setdefault(memory_id or "default", self._provide_memory(memory_id or "default"))

    def chat(
        self,
        text: str,
        memory_id: str | None = None,
        parameters: InvocationParameters | Mapping[str, Any] | None = None,
    ) -> Result:
        """The whole answer. raises FootnoteError: what went wrong in one sentence"""
        for event in self._events(text, memory_id, parameters, None):
            if isinstance(event, Failed):
                raise event.error
            if isinstance(event, Complete):
                return event.result
        raise StoppedError("stopped before there was an answer")

    def stream(
        self,
        text: str,
        memory_id: str | None = None,
        parameters: InvocationParameters | Mapping[str, Any] | None = None,
        stop: StopSignal | None = None,
    ) -> TokenStream:
        """The answer as it comes: iterate over its events, or give it callbacks and `start()` it."""
        return TokenStream(lambda: self._events(text, memory_id, parameters, stop))

    # ── the way of a question ────────────────────────────────────────────────

    def _events(self, text: str, memory_id: str | None, parameters, stop: StopSignal | None) -> Iterator[Event]:
        try:
            memory = self.memory(memory_id)
            before = memory.messages()
            contents, trace = self._retrieve(self._query(text, memory_id, before, parameters))
            prompt = self._pack(text, contents, before)
            yield Retrieved(prompt.contents, prompt, trace)
            request = ChatRequest(prompt.messages, max_tokens=prompt.answer_tokens, **self._sampling)
            for event in stream_reply(self._model, request, prompt.contents, stop):
                if isinstance(event, Complete):
                    self._remember(memory, text, prompt, event.result)
                yield event
        except FootnoteError as error:
            yield Failed(error)

    @staticmethod
    def _query(text: str, memory_id: str | None, before: list[ChatMessage], parameters) -> Query:
        if not isinstance(parameters, InvocationParameters):
            parameters = InvocationParameters(parameters)
        turns = tuple(message for message in before if message.role != "system")
        return Query(text, QueryMetadata(text, memory_id, turns, parameters))

    def _retrieve(self, query: Query) -> tuple[list[Content], Any]:
        if self._augmentor is not None:
            augmented = self._augmentor.augment(query)
            return list(augmented.contents), getattr(augmented, "trace", None)
        if self._retriever is not None:
            return list(self._retriever.retrieve(query)), None
        return [], None

    def _pack(self, text: str, contents: list[Content], before: list[ChatMessage]) -> PackedPrompt:
        system = next((message.text for message in before if message.role == "system"), self._system_message)
        turns = [message for message in before if message.role != "system"]
        return self._packer.with_rules(system).pack(text, contents, turns)

    def _remember(self, memory: ChatMemory, text: str, prompt: PackedPrompt, result: Result) -> None:
        """A turn is kept whole or not at all: no question without an answer, no empty answer."""
        if result.content.strip() and result.finish_reason != "empty":
            memory.add(ChatMessage("user", prompt.user_message if self._store_contents else text))
            memory.add(ChatMessage("assistant", result.content))


class TokenStream:
    """An answer that hasn't begun. Iterating over it, or `start()`, runs it; nothing happens before.

    assistant.stream("Why?").on_partial_response(print).on_complete_response(save).start()
    """

    def __init__(self, run: Callable[[], Iterator[Event]]) -> None:
        self._run = run
        self._retrieved: Callable[[tuple[Content, ...]], None] | None = None
        self._partial: Callable[[str], None] | None = None
        self._complete: Callable[[Result], None] | None = None
        self._error: Callable[[FootnoteError], None] | None = None

    def __iter__(self) -> Iterator[Event]:
        return self._run()

    def on_retrieved(self, call: Callable[[tuple[Content, ...]], None]) -> TokenStream:
        """Comes first, with the contents that are in the prompt."""
        self._retrieved = call
        return self

    def on_partial_response(self, call: Callable[[str], None]) -> TokenStream:
        self._partial = call
        return self

    def on_complete_response(self, call: Callable[[Result], None]) -> TokenStream:
        self._complete = call
        return self

    def on_error(self, call: Callable[[FootnoteError], None]) -> TokenStream:
        """Without it, `start` raises the error."""
        self._error = call
        return self

    def start(self) -> None:
        """Run to the end, in this thread."""
        for event in self._run():
            match event:
                case Retrieved() if self._retrieved:
                    self._retrieved(event.contents)
                case Partial() if self._partial:
                    self._partial(event.text)
                case Complete() if self._complete:
                    self._complete(event.result)
                case Failed() if self._error:
                    self._error(event.error)
                case Failed():
                    raise event.error


def _memory_of_ten(memory_id: str) -> ChatMemory:
    return MessageWindowChatMemory(DEFAULT_MEMORY_MESSAGES, id=memory_id)

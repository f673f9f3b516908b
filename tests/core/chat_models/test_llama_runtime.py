"""That what a runtime thinks to have read is what its context holds, with models too that can't forget a part."""

import threading

import llama_cpp.llama_cpp
import pytest

from core.chat_models.llama_runtime import LlamaRuntime
from core.errors import ModelError, StoppedError
from core.model_catalogue import locate

TINY = "smollm2-135m"
pytestmark = pytest.mark.real_model(TINY)
ABORTED = 2


class Library:
    """The real one, which reads a batch whole and then says `code`, and forgets no part unless it `forgets`."""

    def __init__(self, forgets: bool) -> None:
        self.code, self._forgets = 0, forgets

    def __getattr__(self, name: str):
        return getattr(llama_cpp.llama_cpp, name)

    def llama_decode(self, context, batch) -> int:
        return llama_cpp.llama_cpp.llama_decode(context, batch) or self.code

    def llama_memory_seq_rm(self, memory, sequence: int, begin: int, end: int) -> bool:
        return self._forgets and llama_cpp.llama_cpp.llama_memory_seq_rm(memory, sequence, begin, end)


def held(runtime: LlamaRuntime) -> int:
    return llama_cpp.llama_cpp.llama_memory_seq_pos_max(runtime._memory, 0) + 1


@pytest.mark.parametrize(("code", "error"), [(ABORTED, StoppedError), (1, ModelError)])
@pytest.mark.parametrize(("forgets", "left"), [(True, 16), (False, 0)])
def test_a_batch_that_failed_leaves_nothing_in_the_context_that_is_not_known(models_dir, forgets, left, code, error):
    library = Library(forgets)
    path = str(locate(TINY, models_dir))
    runtime = LlamaRuntime(path, context_tokens=128, threads=1, batch_tokens=16, library=library)
    try:
        tokens = runtime.tokenize("One ship passed, and then another. " * 9)[:48]
        runtime.read(tokens[:16])
        wanted = runtime.read(tokens[:32]) and runtime.logits()
        runtime.forget_from(0)
        runtime.read(tokens[:16])
        library.code = code
        with pytest.raises(error):
            runtime.read(tokens, threading.Event())
        assert (runtime.length, held(runtime)) == (left, left)
        library.code = 0
        assert runtime.read(tokens[:32]) == left
        assert held(runtime) == 32 and runtime.logits().argmax() == wanted.argmax()
    finally:
        runtime.close()

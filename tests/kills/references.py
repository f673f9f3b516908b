"""What each content becomes where nothing is killed: the measure for what is found after a kill."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Iterable
from pathlib import Path

from core.bootstrap import build_services
from core.settings import Settings
from tests.kills.contents import Content
from tests.kills.survey import signature

SEGMENT_TOKENS = (300, 120)  # rounds take one of these, so that a re-index has something to change


def references(folder: Path, contents: Iterable[Content], *, model: str = "hashing") -> dict[str, set[str]]:
    """content name -> its signature by each pipeline. Made in a process of its own: this one stays fit to be forked."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with os.fdopen(writing, "w") as pipe:
                for tokens in SEGMENT_TOKENS:
                    json.dump(_signatures(folder / str(tokens), list(contents), model, tokens), pipe)
                    pipe.write("\n")
        except Exception:  # noqa: BLE001 the edge of a process: nothing of the parent's may go on here
            traceback.print_exc()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found = [json.loads(line) for line in pipe]
    os.waitpid(pid, 0)
    if len(found) != len(SEGMENT_TOKENS):
        raise RuntimeError("the files could not be read where nothing was killed; see above")
    return {name: {signatures[name] for signatures in found} for name in found[0]}


def _signatures(folder: Path, contents: list[Content], model: str, tokens: int) -> dict[str, str]:
    chosen = Settings(data=folder, chat_model="echo", embedding_model=model, max_segment_tokens=tokens)
    services = build_services(chosen)
    for content in contents:
        services.library.add_bytes(f"x.{content.kind}", content.data, source=content.name)
    services.indexing.run_until_idle()
    library = services.library
    found = {
        one.source: signature(library.document_text(one.id), library.segments(one.id)) for one in library.documents()
    }
    services.close()
    return found

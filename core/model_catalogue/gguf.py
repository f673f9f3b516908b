"""A first look at a chat model's file: its beginning says what it is. Loading it is the chat model's business."""

from __future__ import annotations

from pathlib import Path

from core.errors import ModelError

_OLD_FORMATS = (b"ggml", b"ggmf", b"ggjt", b"ggla")
_LFS_POINTER = b"version https://git-lfs"


def check_gguf(path: Path, *, setting: str) -> None:
    """Refuse what can't be a GGUF model.

    setting  name of the setting that holds the path, for the message
    raises   ModelError in one sentence: nothing there, a folder, a Git-LFS pointer, an old format, another kind of file
    """
    named = f"{setting} names {str(path)!r}, "
    if path.is_dir():
        raise ModelError(f"{named}which is a folder; name the .gguf file in it")
    try:
        with path.open("rb") as file:
            start = file.read(len(_LFS_POINTER))
    except FileNotFoundError as error:
        raise ModelError(f"{named}which doesn't exist; correct the path, or name a model of the catalogue") from error
    except OSError as error:
        raise ModelError(f"{named}which can't be read: {error.strerror}") from error
    if start.startswith(b"GGUF"):
        return
    if start == _LFS_POINTER:
        raise ModelError(f"{named}which is only a Git-LFS pointer; run 'git lfs pull' there, or download the model")
    # Written as a little-endian number, the old magics stand backwards in most files.
    if start[:4] in _OLD_FORMATS or start[:4][::-1] in _OLD_FORMATS:
        raise ModelError(f"{named}which is an old GGML file; convert it to GGUF, or download a GGUF version")
    raise ModelError(f"{named}which isn't a GGUF file; name a model that llama.cpp can read")

"""From the name in a setting to the path that is loaded, or to one sentence that says what is missing."""

from __future__ import annotations

from pathlib import Path

from core.errors import ModelError, UnknownNameError
from core.model_catalogue.entries import CATALOGUE, DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL
from core.model_catalogue.gguf import check_gguf
from core.model_catalogue.model import CatalogueModel, Kind
from core.model_catalogue.verification import state
from core.registry import lookup

SETTINGS: dict[Kind, str] = {"chat": "FOOTNOTE_CHAT_MODEL", "embedding": "FOOTNOTE_EMBEDDING_MODEL"}

_OTHER_WAYS: dict[Kind, str] = {
    "chat": "'echo', or give the path of a GGUF file",
    "embedding": "'hashing', or give the path of a folder",
}

_STATES = {
    "missing": "isn't on this computer yet; fetch it ({size} MB) with",
    "partial": "is only partly here; go on fetching it with",
    "damaged": "is damaged (it differs from the catalogue's checksum); fetch it again with",
}


def is_path(name_or_path: str) -> bool:
    """Whether a setting names a file or folder rather than a model of the catalogue."""
    looks_so = any(mark in name_or_path for mark in ("/", "\\")) or name_or_path.lower().endswith(".gguf")
    return name_or_path not in CATALOGUE and (looks_so or name_or_path.startswith(("~", ".")))


def find(name: str, *, kind: Kind) -> CatalogueModel:
    """The model of that name and kind. Raises UnknownNameError, which lists the choices."""
    return lookup({model.name: model for model in CATALOGUE.values() if model.kind == kind}, name, kind=f"{kind} model")


def locate(name_or_path: str, models_dir: Path, *, kind: Kind = "chat") -> Path:
    """Where a model is loaded from: a GGUF file for a chat model, a folder for an embedding model.

    name_or_path  a name of the catalogue (`qwen2.5-coder-1.5b`) or a path to any model
    raises        UnknownNameError for a name that isn't in the catalogue; ModelError for a model that is missing,
                  partly here or damaged, and for a path that holds no model. Each names the setting or the command.
    """
    setting = SETTINGS[kind]
    if not is_path(name_or_path):
        model = _meant(name_or_path, kind)
        found = state(model, models_dir)
        if found != "present":
            says = _STATES[found].format(size=f"{model.bytes / 1e6:,.0f}")
            raise ModelError(f"{kind} model {model.name!r} {says} 'python cli.py models fetch {model.name}'")
        return model.path_in(models_dir)
    path = Path(name_or_path).expanduser()
    if kind == "chat":
        check_gguf(path, setting=setting)
    elif not (path / "modules.json").is_file():
        raise ModelError(f"{setting} names {name_or_path!r}, which isn't a folder of a sentence-transformers model")
    return path


def _meant(name: str, kind: Kind) -> CatalogueModel:
    try:
        return find(name, kind=kind)
    except UnknownNameError as error:
        raise UnknownNameError(f"{error}, {_OTHER_WAYS[kind]}") from None


def rows(models_dir: Path) -> list[dict]:
    """The catalogue with the state of each model here: what `cli.py models` and the settings page show."""
    defaults = (DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL)
    return [
        {
            "name": model.name,
            "title": model.title,
            "kind": model.kind,
            "bytes": model.bytes,
            "licence": model.licence,
            "state": state(model, models_dir),
            "default": model.name in defaults,
            "path": str(model.path_in(models_dir)),
            "sha256": model.sha256,
            "sources": [source.label for source in model.sources],
        }
        for model in CATALOGUE.values()
    ]

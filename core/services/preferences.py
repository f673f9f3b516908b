"""The settings as a person sees them: each knob described, saved, reset. What is saved wins over the default; the
environment wins over what is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from core.errors import ConfigError
from core.model_catalogue.entries import CATALOGUE
from core.model_catalogue.locating import is_path
from core.model_catalogue.model import Kind
from core.protocols import SettingsStore
from core.registry import lookup
from core.settings import Settings

# Where things lie is said from outside: what is kept in a data folder can't say which folder that is.
OUTSIDE = ("data", "models")


class _Models(NamedTuple):
    names: tuple[str, ...]
    path: str


def _models(kind: Kind, for_tests: str, path: str) -> _Models:
    return _Models((*(model.name for model in CATALOGUE.values() if model.kind == kind), for_tests), path)


_MODELS = {
    "chat_model": _models("chat", "echo", "a GGUF file"),
    "embedding_model": _models("embedding", "hashing", "a model's folder"),
}


@dataclass(frozen=True)
class Knob:
    """One setting with all that a form needs. `value` is in effect now, `saved` after the next start.

    suggestions  values to choose from where others (a path) are taken as well
    unusable  why what was saved can't be used, "" where it can; `saved` is the default then, and a reset forgets it
    """

    name: str
    group: str
    help: str
    type: type
    default: Any
    value: Any
    saved: Any
    choices: tuple[str, ...]
    minimum: float | None
    maximum: float | None
    from_environment: bool
    unusable: str = ""
    suggestions: tuple[str, ...] = ()

    @property
    def environment_name(self) -> str:
        return f"FOOTNOTE_{self.name.upper()}"

    @property
    def needs_restart(self) -> bool:
        return self.saved != self.value


class PreferenceService:
    """choices: for settings that name a strategy, the names that there are."""

    def __init__(
        self, settings: Settings, store: SettingsStore, choices: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self._settings, self._store, self._choices = settings, store, choices or {}

    def describe(self) -> list[Knob]:
        """Every knob, in the order of the settings file."""
        saved = self._store.load()
        from_environment = Settings().model_fields_set
        return [
            self._knob(name, field, saved, name in from_environment)
            for name, field in Settings.model_fields.items()
            if name not in OUTSIDE
        ]

    def save(self, name: str, value: Any) -> None:
        """Keep a choice for the next start. raises ConfigError for an unknown name or a value out of range"""
        self._known(name)
        if name in _MODELS:
            _check_model(name, value)
        if name in self._choices:
            lookup(dict.fromkeys(self._choices[name]), value, kind=name.replace("_", " "))
        try:
            checked = _checked(name, value)
        except ValidationError as error:
            raise ConfigError(f"{name}={value!r} can't be saved: {_reason(error)}") from None
        self._store.save(name, checked)

    def reset(self, name: str) -> None:
        self._known(name)
        self._store.reset(name)

    def _known(self, name: str) -> None:
        if name in OUTSIDE:
            raise ConfigError(f"{name!r} can only be set from outside, as FOOTNOTE_{name.upper()}")
        if name not in Settings.model_fields:
            raise ConfigError(f"no setting is called {name!r}")

    def _knob(self, name: str, field: FieldInfo, saved: dict[str, Any], from_environment: bool) -> Knob:
        limits = {type(item).__name__: item for item in field.metadata}
        value = getattr(self._settings, name)
        default = field.get_default(call_default_factory=True)
        literals = tuple(choice for choice in get_args(field.annotation) if isinstance(choice, str))
        choices = tuple(self._choices.get(name, literals))
        kept, unusable = self._kept(name, saved, default)
        return Knob(
            name=name,
            group=field.json_schema_extra["group"],  # type: ignore[index,call-overload]
            help=field.description or "",
            type=str if choices or not isinstance(default, bool | int | float) else type(default),
            default=default,
            value=value,
            saved=value if from_environment else kept,
            choices=choices,
            minimum=getattr(limits.get("Ge"), "ge", None),
            maximum=getattr(limits.get("Le"), "le", None),
            from_environment=from_environment,
            unusable=unusable,
            suggestions=_MODELS[name].names if name in _MODELS else (),
        )

    def _kept(self, name: str, saved: dict[str, Any], default: Any) -> tuple[Any, str]:
        """What is saved, and ""; or the default, and why what is saved can't be used."""
        if name not in saved:
            return default, ""
        value, reason = saved[name], ""
        try:
            kept = _checked(name, value)
            if name in self._choices and kept not in self._choices[name]:
                reason = f"choose one of {', '.join(self._choices[name])}"
        except ValidationError as error:
            reason = _reason(error)
        return (default, f"The saved value {value!r} can't be used: {reason}") if reason else (kept, "")


def _check_model(name: str, value: Any) -> None:
    """raises  ConfigError for a name that isn't in the catalogue, and for a path that leads nowhere"""
    known = _MODELS[name]
    text = str(value or "").strip()
    if text not in known.names and not (text and is_path(text) and Path(text).expanduser().exists()):
        raise ConfigError(
            f"{name}={text!r} can't be saved: choose one of {', '.join(known.names)}, or the path of {known.path} "
            "on this computer"
        )


def _checked(name: str, value: Any) -> Any:
    return getattr(Settings.model_validate({name: value}), name)


def _reason(error: ValidationError) -> str:
    message = error.errors()[0]["msg"]
    return f"{message[0].lower()}{message[1:]}"

"""The catalogue is well formed, and settings start with models that are in it."""

from __future__ import annotations

import re

import pytest

from core.model_catalogue import CATALOGUE, HuggingFaceSource, PackageSource
from core.model_catalogue.entries import DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL
from core.settings import Settings


@pytest.mark.parametrize("model", CATALOGUE.values(), ids=CATALOGUE)
def test_every_model_is_pinned_everywhere(model):
    assert model.licence
    assert all(re.fullmatch("[0-9a-f]{64}", file.sha256) and file.bytes > 0 for file in model.files)
    assert [type(source) for source in model.sources] == [HuggingFaceSource, PackageSource]
    hub, packages = model.sources
    assert re.fullmatch("[0-9a-f]{40}", hub.revision)
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", package) for package in packages.packages)


def test_a_chat_model_is_one_file_and_file_names_are_unique():
    chats = [model for model in CATALOGUE.values() if model.kind == "chat"]
    assert [len(model.files) for model in chats] == [1] * len(chats)
    assert len({model.files[0].path for model in chats}) == len(chats)


def test_the_defaults_are_those_of_the_settings():
    fields = Settings.model_fields
    assert (fields["chat_model"].default, fields["embedding_model"].default) == (
        DEFAULT_CHAT_MODEL,
        DEFAULT_EMBEDDING_MODEL,
    )

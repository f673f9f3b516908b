"""The README tells the truth: every setting, command, strategy and make target is there, and nothing that isn't."""

from __future__ import annotations

import re
from pathlib import Path

from core.bootstrap import registries
from core.settings import Settings
from scripts.readme import filled, settings_table, strategies_table

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_setting_is_documented_with_its_default_and_help():
    assert settings_table(Settings.model_fields) in README


def test_every_strategy_is_documented():
    assert strategies_table(registries()) in README


def test_a_table_ends_with_a_blank_line():
    text = "<!-- names: here -->\n\n| old |\n\n\n## Next\n"
    expected = "<!-- names: here -->\n\n| new |\n\n## Next\n"
    assert filled(text, "names", "| new |") == expected == filled(expected, "names", "| new |")
    assert not re.search(r"^\|.*\n## ", README, re.MULTILINE)


def test_every_command_is_documented_and_every_documented_command_exists():
    from cli import app

    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    commands |= {group.name for group in app.registered_groups}
    section = README.split("## The command line")[1].split("\n## ")[0]
    documented = set(re.findall(r"`(?:python cli\.py )?([a-z]+)(?: [A-Z]+[^`]*)?`", section))
    assert documented >= commands, commands - documented
    assert documented - commands <= {"data"}, documented - commands


def test_every_make_target_that_is_named_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"`make ([a-z]+)`|^make ([a-z]+)$", README, re.MULTILINE))
    assert {word for pair in named for word in pair if word} == {"run", "test", "bench"} <= targets


def test_install_and_run_stand_within_the_first_22_lines():
    assert "make run" in README.splitlines()[:22]


def test_linked_files_exist():
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README) + re.findall(r"\((\w+/README\.md)\)", README)
    assert links and [link for link in links if not (ROOT / link).exists()] == []


def test_every_folder_of_core_is_on_its_map_and_every_folder_on_the_map_exists():
    core = ROOT / "core"
    named = set(re.findall(r"`([a-z_]+)/`", (core / "README.md").read_text(encoding="utf-8"))) - {"storage"}
    there = {path.parent.name for path in core.glob("*/*.py")}
    assert named == there

"""The set-up: what is pinned, what each failure says, and that the second time is quick."""

from __future__ import annotations

import ast
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts import browser, pip_install, setup

ROOT = Path(__file__).parent.parent


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def test_every_requirement_is_pinned_under_a_line_with_its_reason_and_licence():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    for above, line in zip(["", *lines], lines, strict=False):
        if line and not line.startswith("#"):
            assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+", line), line
            assert re.search(r"; (MIT|Apache-2.0|BSD-3-Clause|AGPL-3.0|MPL-2.0)", above), line


def test_constraints_pin_exactly_and_leave_torch_alone():
    constraints = pins("constraints.txt")
    assert "torch" not in constraints
    assert not constraints.keys() & pins("requirements.txt").keys()


def test_the_build_machine_runs_make_test():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    assert "make test" in script.read_text()


def test_streamlit_knows_every_option_of_its_config():
    code = "from streamlit import config; config.get_config_options(); print(config.get_option('server.address'))"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (result.stdout.strip(), result.stderr) == ("127.0.0.1", "")


def test_openmp_threads_are_kept_from_spinning_in_run_and_test():
    assert "export GOMP_SPINCOUNT ?= 1000" in (ROOT / "Makefile").read_text()
    assert os.environ["GOMP_SPINCOUNT"]


@pytest.fixture
def venv(tmp_path):
    """A folder that looks like a complete environment; its python fails with pip's words."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho 'ERROR: No matching distribution found for streamlit==1.67.0'\nexit 1\n")
    python.chmod(0o755)
    setup.stamp(tmp_path).write_text(setup.fingerprint())
    return tmp_path


def test_the_second_time_is_quick_and_silent(venv):
    began = time.monotonic()
    command = [sys.executable, "-m", "scripts.setup", "--venv", str(venv)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert time.monotonic() - began < 2


def test_changed_requirements_are_installed_again(venv, monkeypatch):
    monkeypatch.setattr(setup, "fingerprint", lambda: "other")
    assert not setup.is_done(venv)


def test_a_python_too_old_is_one_sentence(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        setup.SetupError, match=r"^Footnote needs Python 3.11 or later and .* is 3.9.2; install a newer"
    ):
        setup.find_python()


@pytest.mark.parametrize("name", ["setup.py", "pip_install.py"])
def test_an_old_python_can_read_the_scripts_that_say_so(name):
    ast.parse((ROOT / "scripts" / name).read_text(encoding="utf-8"), feature_version=(3, 8))


def test_a_newer_python_on_the_path_is_taken(monkeypatch, tmp_path):
    newer = tmp_path / "python3.12"
    newer.write_text("#!/bin/sh\n")
    newer.chmod(0o755)
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert setup.find_python() == str(newer)


def test_no_compiler_is_one_sentence(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(setup.SetupError, match=r"^Footnote needs a C\+\+ compiler"):
        setup.check_compiler()


def test_a_failed_installation_shows_pips_last_lines_and_where_the_rest_is(venv, monkeypatch, capsys):
    monkeypatch.setattr(pip_install, "torch_options", lambda: [])
    with pytest.raises(setup.SetupError, match=r"^pip could not install the requirements; .*setup.log"):
        pip_install.install(venv)
    assert "No matching distribution found for streamlit" in capsys.readouterr().err


@pytest.mark.parametrize(
    "log, says",
    [
        ("", "starting"),
        ("Collecting lxml==6.1.3 (from -r x)\nWARNING: ignored\n", "Collecting lxml==6.1.3"),
        ("  Building wheel for llama-cpp-python (pyproject.toml): started\n", "compiling llama-cpp-python"),
        ("Installing collected packages: a, b\n  Uninstalling a:\n", "unpacking what was downloaded"),
    ],
)
def test_the_heartbeat_says_what_pip_is_at(log, says):
    assert pip_install.doing(log) == says


def test_the_cpu_build_of_torch_is_asked_for_where_its_index_answers(monkeypatch):
    monkeypatch.setattr(pip_install, "index_answers", lambda: True)
    monkeypatch.setattr(sys, "platform", "linux")
    assert pip_install.torch_options() == ["--extra-index-url", pip_install.TORCH_CPU_INDEX, "torch==2.13.0+cpu"]
    monkeypatch.setattr(sys, "platform", "darwin")
    assert pip_install.torch_options() == ["--extra-index-url", pip_install.TORCH_CPU_INDEX]
    monkeypatch.setattr(pip_install, "index_answers", lambda: False)
    assert pip_install.torch_options() == []


def test_a_cuda_build_is_spoken_of(venv, capsys):
    python = pip_install.venv_python(venv)
    python.write_text("#!/bin/sh\necho 12.8\n")
    setup.check_torch(venv)
    assert capsys.readouterr().out.startswith("Note: your package index gave PyTorch's CUDA 12.8 build")


def test_a_browser_on_the_path_is_found_first(monkeypatch, tmp_path):
    chromium = tmp_path / "chromium"
    chromium.write_text("")
    chromium.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert browser.find_chromium() == str(chromium)


def test_no_browser_to_be_had_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(browser, "find_chromium", lambda: None)
    monkeypatch.setattr(browser, "install_chromium", lambda: "no network")
    assert browser.main() == 1
    assert capsys.readouterr().err == "Chromium could not be installed (no network); the browser tests are skipped.\n"


def test_the_last_line_of_a_run_says_how_many_real_model_tests_were_skipped(tmp_path):
    (tmp_path / "test_two.py").write_text(
        "import pytest\npytestmark = pytest.mark.real_model\ndef test_one(): raise OSError\ndef test_two(): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-c", "pyproject.toml", str(tmp_path)]
    environ = os.environ | {"FOOTNOTE_TEST_MODELS": "none"}
    result = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "2 tests were skipped: FOOTNOTE_TEST_MODELS=none"
    assert result.returncode == 0

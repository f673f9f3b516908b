"""The import rule of the house, read from the imports themselves.

app.py -> pages -> core     cli.py -> core     storage -> core     (core/bootstrap.py alone joins core and storage)
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FORBIDDEN = {
    "core": {"streamlit", "sqlalchemy", "alembic", "faiss", "pymilvus", "storage", "pages", "app", "cli"},
    "storage": {"streamlit", "pages", "app", "cli", "torch", "llama_cpp", "sentence_transformers"},
    "pages": {"storage", "sqlalchemy", "faiss", "torch", "llama_cpp", "cli"},
    "cli.py": {"streamlit", "pages", "storage", "sqlalchemy", "faiss"},
    "app.py": {"storage", "sqlalchemy", "faiss"},
}
JOINS = ROOT / "core" / "bootstrap.py"


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def files(place: str) -> list[Path]:
    path = ROOT / place
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


@pytest.mark.parametrize("place", FORBIDDEN)
def test_each_layer_imports_only_what_lies_below_it(place):
    assert files(place)
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files(place)
        for name in sorted(imported(path))
        if name.split(".")[0] in FORBIDDEN[place] and not (path == JOINS and name.split(".")[0] == "storage")
    ]
    assert wrong == []


def test_a_strategy_never_imports_a_sibling():
    """Files of a strategy folder import their folder's registry nowhere; only `__init__.py` knows all of them."""
    folders = [init.parent for init in (ROOT / "core").rglob("__init__.py") if "from core." in init.read_text("utf-8")]
    assert folders
    wrong = []
    for folder in folders:
        package = ".".join(folder.relative_to(ROOT).parts)
        for path in folder.glob("*.py"):
            if path.name != "__init__.py" and package in imported(path):
                wrong.append(f"{path.relative_to(ROOT)} imports its own registry {package}")
    assert wrong == []


def test_importing_everything_does_nothing(tmp_path):
    """No folder made, no engine opened, no model loaded, and no heavy library pulled in by core."""
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files("core")]
    modules = sorted(name.removesuffix(".__init__") for name in modules if not name.endswith("__main__"))
    code = (
        "import sys, importlib\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        "heavy = {'torch', 'llama_cpp', 'pymupdf', 'faiss', 'sqlalchemy', 'streamlit', 'sentence_transformers'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout.strip()) == (0, "[]"), run.stderr
    assert list(tmp_path.iterdir()) == []

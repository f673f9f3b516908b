"""kill -9 at every fault point and at random moments: is anything lost, or half there? See `tests/kills/`.

python -m tests.kills --kills 360      the same, one line a kill
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.kills.run import run_kills


def measure(kills: int = 360, model: str = "hashing", seed: int = 1) -> dict[str, Any]:
    """rows: kills and findings of each operation; ok: whether there were no findings."""
    with tempfile.TemporaryDirectory(prefix="footnote-kills-") as folder:
        done = list(run_kills(Path(folder), kills, model=model, seed=seed))
    struck = Counter(killed.operation for killed in done)
    wrong = Counter(killed.operation for killed in done for _ in killed.problems)
    return {
        "kills": len(done),
        "model": model,
        "findings": sum(wrong.values()),
        "must": "no finding: nothing lost, nothing half-indexed, check clean",
        "ok": len(done) >= kills and not wrong,
        "rows": [{"operation": name, "kills": count, "findings": wrong[name]} for name, count in struck.items()],
    }

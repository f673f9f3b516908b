"""python -m tests.kills --kills 300 [--model hashing] [--seed N] [--lanes 2]: one line a kill, a table, and exit
status 1 where anything was lost, half, or wrong."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.kills.run import run_kills
from tests.kills.summary import line_of, table_of


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="how many (300)")
    parser.add_argument("--model", default="hashing", help="embedding model: hashing, or a name of the catalogue")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments (1)")
    parser.add_argument("--lanes", type=int, default=2, help="folders that are worked on at the same time (2)")
    parser.add_argument("--keep", type=Path, help="an empty folder to work in, which is kept")
    chosen = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="footnote-kills-") as folder:
        base = chosen.keep or Path(folder)
        done = []
        for killed in run_kills(base, chosen.kills, model=chosen.model, seed=chosen.seed, lanes=chosen.lanes):
            done.append(killed)
            print(line_of(len(done), killed), flush=True)
    print(f"\n{table_of(done)}\n{len(done)} kills in {time.monotonic() - started:.0f} s, seed {chosen.seed}")
    return 1 if any(killed.problems for killed in done) or len(done) < chosen.kills else 0


if __name__ == "__main__":
    sys.exit(main())

"""python -m tests.kills --kills 300 [--model hashing] [--seed N] [--lanes 2]: one line a kill, a table, and exit
status 1 where anything was lost, half, or wrong."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from tests.kills.lane import Killed
from tests.kills.plans import KILLED
from tests.kills.run import run_kills
from tests.kills.summary import line_of, table_of
from tests.kills.victim import Target


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="how many (300)")
    parser.add_argument("--model", default="hashing", help="embedding model: hashing, or a name of the catalogue")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments (1)")
    parser.add_argument("--lanes", type=int, default=2, help="folders that are worked on at the same time (2)")
    parser.add_argument("--keep", type=Path, help="an empty folder to work in, which is kept")
    parser.add_argument("--kinds", action="store_true", help="each kind of point once, not at every operation")
    parser.add_argument("--only", action="append", choices=KILLED, help="this operation; may be repeated (all)")
    parser.add_argument("--json", type=Path, help="where to write points and kills as well")
    chosen = parser.parse_args()
    started = time.monotonic()
    done: list[Killed] = []
    points: list[Target] = []
    with tempfile.TemporaryDirectory(prefix="footnote-kills-") as folder:
        options = {"model": chosen.model, "seed": chosen.seed, "lanes": chosen.lanes, "kinds": chosen.kinds}
        options["only"] = chosen.only or KILLED
        for killed in run_kills(chosen.keep or Path(folder), chosen.kills, found=points.extend, **options):
            done.append(killed)
            print(line_of(len(done), killed), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps({"points": list(map(asdict, points)), "kills": list(map(asdict, done))}))
    print(f"\n{table_of(done)}\n{len(done)} kills in {time.monotonic() - started:.0f} s, seed {chosen.seed}")
    return 1 if any(killed.problems for killed in done) or len(done) < chosen.kills else 0


if __name__ == "__main__":
    sys.exit(main())

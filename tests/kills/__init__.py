"""Kills a process of Footnote at every durable step, and at random moments, and looks what is left.

    python -m tests.kills --kills 300                                 with the hashing model, minutes
    python -m tests.kills --kills 30 --model all-minilm-l6-v2         with the real one

A round: a process starts on the folder that the last one left, checks it, compares it with what was acknowledged (the
ledger), goes on until nothing waits, compares again, then works until it is killed with SIGKILL. Its files are real
ones, its services those of the app.

    contents.py     the files: text, Markdown, HTML, CSV, PDF, long ones
    references.py   what each file becomes where nothing is killed
    ledger.py       what must be there, from what was acknowledged
    operations.py   what is done to documents        other_operations.py   … to everything else
    survey.py       which documents are there, by every way of looking, which must agree       sides.py   … the rest
    victim.py       a round, in the process that is killed
    lane.py         the parent: starts victims on one folder, kills them, keeps the ledger
    plans.py        where to kill: every fault point of every operation, then random moments
    run.py          all of it, in several lanes side by side
"""

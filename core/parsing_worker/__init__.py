"""Parsing in a process of its own, so that a broken or hostile file can't take the app down.

worker.py   ParsingWorker: what the rest of Footnote uses
process.py  one worker process: start, talk, kill, and what it said before it died
child.py    what runs in it: `python -m core.parsing_worker.child`
wire.py     frames on the pipe, documents and errors as JSON; no pickle
"""

from core.parsing_worker.worker import ParsingWorker

__all__ = ["ParsingWorker"]

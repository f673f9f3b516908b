"""A small question set made up here, for whoever has none: places that don't exist, and questions about them.

Each entry tells of one place; each question is about one fact of one entry, in other words than the entry's. The same
seed makes the same set. Good for times and for seeing that everything runs; as a measure of finding it is easy.
"""

from __future__ import annotations

import random

from benchmarks.question_files import BenchSet
from core.evaluation.question_set import Entry, Question

ENTRIES, QUESTIONS, SEED = 400, 100, 7

_START = "Ar Bel Cor Dun El Fen Gar Hol Is Jar Kel Lom Mar Nor Os Pel Quin Ros Sel Tor Ul Var Wen Yar Zel".split()
_MIDDLE = "a e i o u ae an en in or ul em ir".split()
_END = "borough dale field ford gate haven holm mere mouth port ridge stead ton vale wick".split()
_FIRST = "Ada Bruno Carla Dorian Edda Falk Greta Hanno Ilse Jonas Karin Lasse Mira Nils Olga Pavel Runa Sven".split()
_LAST = "Adler Brandt Castel Dahlin Ekholm Falke Grimm Hartog Ivers Jansson Keller Lindt Moberg Norling".split()
_BUILDINGS = "lighthouse,windmill,observatory,aqueduct,covered market,bell tower,granary,botanical garden".split(",")
_GOODS = "salt,amber,wool,copper wire,glass beads,smoked trout,walnut oil,violins,clay pipes,linen".split(",")
_RIVERS = "Ossel,Tharn,Vilde,Morra,Kessen,Ardle,Juna,Wispel".split(",")

# fact -> (sentence of the entry, question); the value in braces is the answer.
_FACTS = {
    "year": ("The {building} of {place} was completed in {year}.", "When was the {building} in {place} finished?"),
    "builder": (
        "Its plans were drawn by {builder}, who had never built anything before.",
        "Who was the architect of {place}'s {building}?",
    ),
    "goods": (
        "For two centuries the town earned its living from {goods}, sold at the autumn fair.",
        "What did people in {place} trade in at the fair?",
    ),
    "river": ("{place} lies where the road from the hills crosses the {river}.", "Which river flows by {place}?"),
    "people": ("At the last count {people} people lived there.", "How many inhabitants does {place} have?"),
}
_FILLERS = (
    "Travellers speak of the long winters, when the harbour freezes and the mail comes by sledge.",
    "A narrow street with wooden houses leads from the square to the old town wall.",
    "The school, the bakery and the small museum share one roof, and one caretaker looks after all three.",
    "On the first Sunday of spring the bands of the neighbouring villages play until it is dark.",
    "After the great storm the roofs were mended with slate that had been meant for the church.",
    "Nobody knows for certain who gave the place its name, and the two chronicles disagree.",
)


def generated_set(entries: int = ENTRIES, questions: int = QUESTIONS, every: int = 1) -> BenchSet:
    """`entries` texts of about 600 characters, and `questions` that each have one right entry."""
    chance = random.Random(SEED)
    facts = [_facts(place, chance) for place in _places(entries, chance)]
    texts = tuple(Entry(f"e{number}", found["place"], _text(found, chance)) for number, found in enumerate(facts))
    asked = tuple(
        Question(f"q{number}", _FACTS[kind][1].format(**facts[entry]), {f"e{entry}": 1.0})
        for number, (entry, kind) in enumerate(
            (chance.randrange(entries), chance.choice(list(_FACTS))) for _ in range(questions)
        )
    )
    return BenchSet("generated", texts, asked[::every])


def _places(count: int, chance: random.Random) -> list[str]:
    names = [start + middle + end for start in _START for middle in _MIDDLE for end in _END]
    return chance.sample(names, count)


def _facts(place: str, chance: random.Random) -> dict[str, str]:
    return {
        "place": place,
        "building": chance.choice(_BUILDINGS),
        "year": str(chance.randrange(1650, 1960)),
        "builder": f"{chance.choice(_FIRST)} {chance.choice(_LAST)}",
        "goods": chance.choice(_GOODS),
        "river": chance.choice(_RIVERS),
        "people": f"{chance.randrange(800, 60000):,}",
    }


def _text(facts: dict[str, str], chance: random.Random) -> str:
    told = [sentence.format(**facts) for sentence, _ in _FACTS.values()]
    return " ".join([*told, *chance.sample(_FILLERS, 3)])

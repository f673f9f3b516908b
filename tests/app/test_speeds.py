"""What this machine was found to do, in words."""

from core.chat_models.tuning import Tuning
from core.services.memory_cost import MemoryCost
from pages.ui.about import speed
from pages.ui.chat_top import memory_captions


def test_the_speed_of_the_chat_model_is_said_with_its_threads():
    assert speed(Tuning(2, 2, 128, 92.4, 27.9)) == "reads 92, writes 28 tokens a second with 2 threads"
    assert speed(Tuning(1, 1, 128, 50.0, 20.0)) == "reads 50, writes 20 tokens a second with 1 thread"
    assert speed(Tuning(8, 4, 128, 300.0, 40.0)).endswith("with 8 threads for reading and 4 for writing")


def test_each_kind_of_memory_says_what_it_costs_in_seconds_once_that_is_known():
    known = memory_captions(MemoryCost(120, 900, 600, 1700, 1200, 1784, 10, 1.4, 9.8, 6.6, 19.7))
    assert known[0].startswith("120 tokens now, about 600 after ten turns; at most 1,200 tokens and 10 messages")
    assert "Reading them takes 1 s now and 7 s then on this computer" in known[0]
    assert "takes 10 s now and 20 s then" in known[1]
    assert "Reading" not in "".join(memory_captions(MemoryCost(120, 900, 600, 1700, 1200, 1784, 10)))

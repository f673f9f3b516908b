"""When a machine is free enough to be measured."""

import time

from core.services.machine import Look, QuietWatch


class Watch(QuietWatch):
    """Sees what it is told: (clock, every, busy, ours)."""

    def __init__(self, *looks):
        super().__init__()
        self._looks = [Look(*look) for look in looks]

    def look(self):
        return self._looks.pop(0)


def test_it_is_quiet_when_little_was_done_between_two_looks_that_are_far_enough_apart():
    watch = Watch((0, 0, 0, 0), (1, 2, 0, 0), (3, 6, 1, 1), (6, 12, 5, 5), (9, 18, 5, 5))
    assert [watch.is_quiet() for _ in range(5)] == [False, False, True, False, True]


def test_what_this_process_does_itself_does_not_make_the_others_busy():
    since = Look(0, 0, 0, 0)
    assert Watch((5, 10, 9, 9)).were_others_quiet(since)
    assert not Watch((5, 10, 9, 5)).were_others_quiet(since)


def test_the_real_figures_grow_and_hold_our_own_work():
    watch = QuietWatch()
    since = watch.look()
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
    now = watch.look()
    assert now.ours - since.ours >= 0.1
    assert now.clock > since.clock and now.every >= since.every and now.busy >= since.busy

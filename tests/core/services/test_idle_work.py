"""What the model does between two questions, and that it gives way."""

import threading

import pytest

from core.chat_models.echo import EchoChatModel
from core.chat_models.tuning import Tuning
from core.domain import ChatMessage
from core.errors import ModelError, NotFoundError, StoppedError
from core.gate import PriorityGate
from core.services.idle_work import IdleWork
from core.services.machine import QuietWatch
from core.services.model_figures import ModelFigures
from storage.database import Database
from storage.measurements import SqliteMeasurementStore
from tests.core.services.chat_parts import Rig

FOUND = Tuning(2, 2, 128, 92.0, 28.0)
RULES = (ChatMessage("system", "Be kind."),)
NEVER = threading.Event()


class Reading(EchoChatModel):
    """Has so many tokens to read ahead, and notes what it is asked to do."""

    def __init__(self, tokens=0, *, waits=False, **options):
        super().__init__(**options)
        self.left, self.waits, self.calibrated, self.read, self.inside = tokens, waits, 0, [], threading.Event()

    def calibrate(self, stop):
        self.calibrated += 1
        if stop.is_set():
            raise StoppedError("a question")
        return FOUND

    def read_ahead(self, messages, *, at_most=256, stop=None):
        self.read.append(tuple(messages))
        self.inside.set()
        while self.waits and not stop.is_set():
            threading.Event().wait(0.01)
        if stop.is_set():
            raise StoppedError("a question")
        self.left = max(0, self.left - at_most)
        return self.left


class Watch(QuietWatch):
    """Of a machine that was so before the measurement and while it ran."""

    def __init__(self, before=True, meanwhile=True):
        super().__init__()
        self._before, self._meanwhile = before, meanwhile

    def is_quiet(self):
        return self._before

    def were_others_quiet(self, since):
        return self._meanwhile


def work(model, figures=None, *, gate=None, beginning=lambda model, conversation: RULES, watch=None):
    return IdleWork(gate or PriorityGate(), figures or ModelFigures(), lambda: model, beginning, watch=watch or Watch())


def test_a_model_is_measured_once_and_another_process_knows_it():
    model, figures = Reading(), ModelFigures()
    idle = work(model, figures)
    while idle.step(NEVER):
        pass
    assert (model.calibrated, figures.tuning(model)) == (1, FOUND)
    later = work(model, figures)
    while later.step(NEVER):
        pass
    assert model.calibrated == 1


def test_a_measurement_that_a_question_ended_is_made_later():
    model, figures = Reading(), ModelFigures()
    idle, asked = work(model, figures), threading.Event()
    asked.set()
    assert idle.step(asked)
    assert figures.tuning(model) is None
    assert not idle.step(NEVER)
    assert figures.tuning(model) == FOUND


def test_a_busy_machine_is_not_measured_at_once_and_reading_ahead_does_not_wait_for_it():
    model, figures = Reading(100), ModelFigures()
    idle = work(model, figures, watch=Watch(before=False))
    idle.answered("c")
    assert not idle.step(NEVER)
    assert (model.read, model.calibrated) == ([RULES], 0)
    idle._waits_since -= 61
    idle.step(NEVER)
    assert (model.calibrated, figures.tuning(model)) == (1, FOUND)


def test_what_was_measured_on_a_busy_machine_is_not_kept_for_the_next_start(tmp_path):
    model = Reading()
    with Database(tmp_path) as database:
        store = SqliteMeasurementStore(database)
        for quiet, kept in ((False, None), (True, FOUND)):
            figures = ModelFigures(store)
            figures.keep_tuning(model, FOUND, for_good=quiet)
            assert figures.tuning(model) == FOUND
            assert ModelFigures(store).tuning(model) == kept


@pytest.mark.parametrize("meanwhile", [True, False])
def test_what_was_measured_while_the_machine_got_busy_is_not_kept_either(tmp_path, meanwhile):
    model = Reading()
    with Database(tmp_path) as database:
        store = SqliteMeasurementStore(database)
        figures = ModelFigures(store)
        assert not work(model, figures, watch=Watch(meanwhile=meanwhile)).step(NEVER)
        assert (model.calibrated, figures.tuning(model)) == (1, FOUND)
        assert ModelFigures(store).tuning(model) == (FOUND if meanwhile else None)


def test_what_the_next_prompt_begins_with_is_read_in_steps_until_nothing_is_left():
    model = Reading(300)
    idle = work(model)
    idle.step(NEVER)
    assert not idle.step(NEVER)
    idle.answered("c")
    steps = 1
    while idle.step(NEVER):
        steps += 1
    assert (steps, model.read, idle.has_work) == (3, [RULES] * 3, False)
    idle.answered(None)
    assert not idle.step(NEVER)


def test_nothing_is_loaded_for_it_and_a_deleted_conversation_is_forgotten():
    assert not work(None).step(NEVER)

    def gone(model, conversation):
        raise NotFoundError("no such conversation")

    model = Reading(100)
    idle = work(model, beginning=gone)
    idle.step(NEVER)
    idle.answered("c")
    assert not idle.step(NEVER)
    assert (model.read, idle.has_work) == ([], False)


@pytest.mark.parametrize("error", [ModelError("it failed"), ZeroDivisionError("a bug")])
def test_a_model_that_fails_is_not_asked_again_and_again_and_ends_no_thread(error):
    class Failing(Reading):
        def calibrate(self, stop):
            raise error

    idle = work(Failing())
    assert not idle.step(NEVER)
    assert not idle.has_work


@pytest.mark.parametrize("error", [ModelError("it failed"), ZeroDivisionError("a bug")])
def test_a_failed_reading_ahead_is_no_reason_not_to_measure(error):
    class Failing(Reading):
        def read_ahead(self, messages, *, at_most=256, stop=None):
            raise error

    model, figures = Failing(), ModelFigures()
    idle = work(model, figures)
    idle.answered("c")
    assert not idle.step(NEVER)
    assert (idle.has_work, figures.tuning(model)) == (False, FOUND)


def test_it_waits_at_the_gate_while_somebody_is_answered():
    gate, model, asked = PriorityGate(), Reading(100), threading.Event()
    idle = work(model, gate=gate)
    idle.step(NEVER)
    idle.answered("c")
    with gate.answering():
        timer = threading.Timer(0.2, asked.set)
        timer.start()
        assert idle.step(asked)
        timer.join()
    assert model.read == []
    assert not idle.step(NEVER)
    assert model.read == [RULES]


@pytest.mark.parametrize("here", [True, False])
def test_a_question_ends_the_reading_ahead_at_once(tmp_path, here):
    """Asked through the engine's own thread, or by a caller that waits for the answer itself."""
    model = Reading(100, waits=True)
    with Rig(tmp_path, model=model).start() as rig:
        conversation, first = rig.answered("How high is the fee?")
        assert model.inside.wait(10)
        if here:
            _, second = rig.answered("And when is breakfast served?", conversation)
        else:
            second = rig.service.answer_now("And when is breakfast served?", conversation_id=conversation)
        assert (first.state, second.state) == ("complete", "complete")
        assert [message.role for message in model.read[0]] == ["system", "user", "assistant"]


def test_an_answer_that_was_cut_keeps_what_was_read_for_going_on(tmp_path):
    model = Reading(100, reply=" ".join(f"w{n}" for n in range(40)))
    with Rig(tmp_path, model=model, max_answer_tokens=16).start() as rig:
        _, answer = rig.answered("How high is the fee?")
        assert answer.state == "cut"
        while not rig.service.is_resting():
            threading.Event().wait(0.01)
        assert model.read == []


def test_closing_ends_the_reading_ahead(tmp_path):
    model = Reading(100, waits=True)
    with Rig(tmp_path, model=model).start() as rig:
        rig.answered("How high is the fee?")
        assert model.inside.wait(10)
    assert rig.service.model_state().state == "idle"

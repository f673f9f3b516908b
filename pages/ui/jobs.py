"""Files on their way into the index: progress, reason, stop, try again, password."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import streamlit as st

from core.records import JOB_ENDED, JobRecord
from pages.ui.boundary import boundary, guarded
from pages.ui.literal import as_sentence, escaped, literal
from pages.ui.session import get_services
from pages.ui.texts import counted, t

FAST_S, SLOW_S = 0.5, 3.0
_SHOWN = 25
_FAILED_SHOWN = 3
_FAILED = ("failed", "needs_password")


def draw_jobs(*, batch: str | None = None, keep_done_s: float | None = None) -> None:
    """The jobs of this batch, or all; polled fast while one runs. When one ends, the page around is drawn again.

    keep_done_s  how long one that went well stays; what failed stays until it's dismissed
    """
    shown = _state(get_services().library.jobs(batch=batch))
    running = any(state not in JOB_ENDED for _, state in shown)
    st.fragment(_draw, run_every=FAST_S if running else SLOW_S)(batch, keep_done_s, shown)


def _draw(batch: str | None, keep_done_s: float | None, shown: list[tuple[int, str]]) -> None:
    with boundary():
        jobs = get_services().library.jobs(batch=batch)
        now = _state(jobs)
        if _ended(now) != _ended(shown) or len(now) != len(shown):
            st.rerun()
        if keep_done_s is not None:
            oldest = datetime.now(UTC) - timedelta(seconds=keep_done_s)
            jobs = [job for job in jobs if job.state != "done" or job.updated >= oldest]
        dismissed = _dismissed()
        jobs = [job for job in jobs if job.state not in JOB_ENDED or job.id not in dismissed]
        if not jobs:
            return
        ordered = sorted(jobs, key=lambda job: (job.state != "running", job.state != "waiting", -job.id))
        waiting = [job for job in ordered if job.state == "waiting"]
        hidden = {job.id for job in waiting[_SHOWN:]}
        failed = [job for job in ordered if job.state in _FAILED]
        with st.container(key="jobs", gap="xsmall"):
            for job in ordered:
                if job.id not in hidden and job not in failed:
                    draw_job(job)
            if hidden:
                st.caption(t("jobs.more", count=len(hidden)))
            _draw_failed(failed)
            _draw_clearing(jobs)


def _draw_failed(failed: Sequence[JobRecord]) -> None:
    """More than a few are one line that opens: the documents below stay in view."""
    holder = st.container(gap="xsmall")
    if len(failed) > _FAILED_SHOWN:
        holder = st.expander(counted("failed_files", len(failed)), icon=":material/warning:", key="failed_jobs")
    with holder:
        for job in failed:
            draw_job(job)


def _draw_clearing(jobs: Sequence[JobRecord]) -> None:
    finished = [job.id for job in jobs if job.state in JOB_ENDED and job.state not in _FAILED]
    failed = [job.id for job in jobs if job.state in _FAILED]
    with st.container(horizontal=True, gap="small"):
        for ids, label in ((finished, "clear"), (failed, "clear_failed")):
            if ids:
                dismiss = guarded(_dismiss)
                st.button(t(f"jobs.{label}"), key=f"{label}_jobs", on_click=dismiss, args=(ids,), type="tertiary")


def _state(jobs: Sequence[JobRecord]) -> list[tuple[int, str]]:
    return sorted((job.id, job.state) for job in jobs)


def _ended(states: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    return [(id, state) for id, state in states if state in JOB_ENDED]


def draw_job(job: JobRecord) -> None:
    with st.container(key=f"job_{job.id}", gap="xxsmall" if job.state in JOB_ENDED else "small"):
        if job.state not in JOB_ENDED:
            bar, button = st.columns([6, 1], vertical_alignment="center")
            label = f"{literal(job.name)} · {literal(job.phase or t('jobs.waiting'))}{_percent(job)}"
            bar.progress(min(max(job.progress, 0.0), 1.0), text=label)
            stop = guarded(get_services().library.stop_job)
            button.button(t("jobs.stop"), key=f"stop_{job.id}", on_click=stop, args=(job.id,), type="tertiary")
            return
        st.html(f'<div class="fn-job"><b>{escaped(job.name)}</b> <span>{escaped(outcome(job))}</span></div>')
        if job.state == "needs_password":
            _password(job)
        with st.container(horizontal=True, gap="small"):
            if job.state in ("failed", "stopped"):
                retry = guarded(_retry)
                st.button(t("jobs.retry"), key=f"retry_{job.id}", on_click=retry, args=(job.id,), type="tertiary")
            if job.state in _FAILED:
                dismiss, ids = guarded(_dismiss), [job.id]
                st.button(t("jobs.dismiss"), key=f"dismiss_{job.id}", on_click=dismiss, args=(ids,), type="tertiary")


def _percent(job: JobRecord) -> str:
    """For a file that takes its time: a bar alone doesn't say whether it moves."""
    return f" · {job.progress:.0%}" if 0.01 <= job.progress < 1 else ""


def outcome(job: JobRecord) -> str:
    """What became of it, as one sentence."""
    if job.state != "done":
        # The name stands in front already.
        return as_sentence(job.reason.removeprefix(f"{job.name!r} ")) or t(f"jobs.{job.state}")
    result = job.result
    status = result.get("status", "indexed")
    if status == "duplicate":
        name = result.get("duplicate_of")
        return t("result.duplicate", name=name) if name else t("result.duplicate_unknown")
    said = as_sentence(job.reason) or t(f"result.{status}", segments=counted("segments", result.get("segments", 0)))
    return " ".join([said, *map(str, result.get("warnings") or ())])


def _password(job: JobRecord) -> None:
    with st.form(f"password_{job.id}", border=False):
        field, button = st.columns([4, 1], vertical_alignment="bottom")
        field.text_input(t("jobs.password"), type="password", key=f"secret_{job.id}")
        button.form_submit_button(t("jobs.unlock"), on_click=guarded(_unlock), args=(job.id,))


def _unlock(job_id: int) -> None:
    get_services().library.retry_job(job_id, password=st.session_state.get(f"secret_{job_id}") or "")
    st.session_state.pop(f"secret_{job_id}", None)


def _retry(job_id: int) -> None:
    get_services().library.retry_job(job_id)


def _dismissed() -> set[int]:
    """Ids of ended jobs that this session has seen enough of."""
    return st.session_state.setdefault("dismissed_jobs", set())


def _dismiss(job_ids: Sequence[int]) -> None:
    """They leave this screen; when all that has ended has left it, it's forgotten for good."""
    library, dismissed = get_services().library, _dismissed()
    dismissed.update(job_ids)
    if all(job.id in dismissed for job in library.jobs() if job.state in JOB_ENDED):
        library.clear_ended_jobs()

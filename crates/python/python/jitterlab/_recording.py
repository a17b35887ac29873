"""Measuring loops of Python programs, and run files made of arrays."""

from __future__ import annotations

import math
import os
import warnings as python_warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, NamedTuple, Union

from . import _native
from ._native import Probed
from ._run import RunWarning, Time

Overrun = Literal["skip", "catch-up", "re-phase"]
"""What happens to due times that passed: they are left out, run back to back, or the grid begins anew."""
Out = Union[str, "os.PathLike[str]", None]


@dataclass(slots=True)
class Activation:
    """One pass of a loop."""

    index: int
    """The number of its due time on the grid, from 0."""
    due_ns: int
    """When it was due, by the clock of time.monotonic_ns()."""
    start_ns: int
    """When it began: as soon as Python ran."""

    @property
    def latency_ns(self) -> int:
        """How late it began."""
        return self.start_ns - self.due_ns


class Figures(NamedTuple):
    """What a task did so far."""

    executed: int
    """Activations that ran."""
    lost: int
    """Activations that ran and are not in the file."""
    missed: int | None
    """Due times that were never served; None before the first activation, with due=fitted before its grid is found."""
    min_latency_ns: int | None
    """The smallest latency; None as before."""
    max_latency_ns: int | None
    """The largest latency; None as before."""


class Recording:
    """A run of one or more tasks, each the loop or the probed loop of a thread; an ordinary thread writes the run file.

    Args:
        out: The run file, which must not exist; None records nothing.
        tasks: The tasks as `jitterlab run --task` has them: "name=servo,period=1ms", with options such as "policy=fifo:80",
            "cpu=1" or "overrun=catch-up".

    Raises:
        Error: A task cannot be understood, or the file cannot be written.
    """

    def __init__(self, out: Out, *tasks: str) -> None:
        self._native = _native.Recording(out, ";".join(tasks))

    def probe(self, task: str) -> Probed:
        """The probe of a loop of the calling thread: `begin` and `end` around its work, or `with` it."""
        return self._native.probe(task)

    def loop(self, task: str) -> Iterator[Activation]:
        """The activations of a task on the calling thread, which is set up for it. What the system refuses is warned of; the
        loop runs with what it got."""
        waiting = self._native.task_loop(task)
        try:
            for refused in self.refused:
                python_warnings.warn(refused, RunWarning, stacklevel=2)
            while (begun := waiting.wait()) is not None:
                yield Activation(*begun)
        finally:
            waiting.close()

    @property
    def refused(self) -> list[str]:
        """What was asked for and refused, each with its remedy."""
        return self._native.refused()

    def figures(self, task: str) -> Figures:
        """What a task did so far."""
        return Figures(*self._native.figures(task))

    def stop(self) -> None:
        """Ends every loop before its next activation. Any thread may call it."""
        self._native.stop()

    def close(self) -> None:
        """Ends the loops and makes the run file. Probes are to be closed before."""
        self._native.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Probe:
    """Watches a loop that exists already.

    with jitterlab.Probe("control", period=0.001, out="control.parquet") as probe:
        while running:
            time.sleep(...)
            with probe:
                ...  # the work of the loop

    `probe.begin(due_ns)` and `probe.end()` in place of the inner `with` say when the activation was due, which is what the
    loop slept until. Without that, due times lie a period apart, beginning with the first activation, and the run file says
    that all latencies are known up to the same amount.

    Args:
        name: The task's name.
        period: Its period: seconds, a time ("250us") or a rate ("4kHz").
        out: The run file, which must not exist; None records nothing.
        overrun: What the loop does with due times that passed.

    Raises:
        Error: The file cannot be written, or the name or period cannot be those of a task.
    """

    def __init__(self, name: str, period: Time, out: Out = None, *, overrun: Overrun = "skip") -> None:
        self.recording = Recording(out, _task(name, period, {"overrun": overrun}))
        """The run it belongs to, with the figures so far."""
        self._probed = self.recording.probe(name)

    def begin(self, due_ns: int | None = None) -> None:
        """An activation begins, which was due at this time of time.monotonic_ns()."""
        self._probed.begin(due_ns)

    def end(self) -> None:
        """The activation ends."""
        self._probed.end()

    def close(self) -> None:
        """Ends the probe and makes the run file."""
        self._probed.close()
        self.recording.close()

    def __enter__(self) -> Probed:
        return self._probed

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def loop(
    period: Time,
    out: Out = None,
    *,
    name: str = "main",
    duration: Time | None = None,
    policy: str | None = None,
    cpu: int | None = None,
    wake: str | None = None,
    clock: str | None = None,
    compensate: str | None = None,
    overrun: Overrun = "skip",
) -> Iterator[Activation]:
    """A periodic loop: `for activation in jitterlab.loop(0.001, "run.parquet"): ...` runs its body once every period.

    The thread is set up as asked; what the system refuses is warned of, and the loop runs with what it got. Other threads of
    the program run while it waits. Ctrl-C ends it at the next activation, and the run file is made.

    Args:
        period: The period: seconds, a time ("250us") or a rate ("4kHz").
        out: The run file, which must not exist; None records nothing.
        name: The task's name.
        duration: How long: seconds or text with a unit; until the loop is left without it.
        policy: Scheduling policy, such as "fifo:80".
        cpu: The processor to run on.
        wake: The wake-up method, such as "timerfd".
        clock: The clock to sleep on, such as "realtime".
        compensate: How to wake early, such as "margin:50us".
        overrun: What happens to due times that passed.

    Raises:
        Error: The file cannot be written, or an option cannot be understood.
    """
    given = {"policy": policy, "cpu": cpu, "wake": wake, "clock": clock, "compensate": compensate, "overrun": overrun}
    task = _task(name, period, given)
    count = math.inf if duration is None else max(1, -(-_native.ns(duration) // _native.period_ns(period)))
    with Recording(out, task) as recording:
        for activation in recording.loop(name):
            yield activation
            if activation.index + 1 >= count:
                return


def write(
    path: str | os.PathLike[str],
    *,
    due: Any = None,
    start: Any = None,
    end: Any = None,
    latency: Any = None,
    period: Time | None = None,
    task: str = "main",
    overrun: Overrun | None = None,
) -> int:
    """Writes a run file of times that were measured otherwise, and gives the number of its activations.

    Each is an array, or another sequence of whole numbers, of nanoseconds; all of one length, in order of time. At least
    `start` is needed, or `latency`; what is not given is unknown in the run file. Due times that have no row count neither as
    missed nor as run, since they may only not have been noted.

    Args:
        path: The run file, which must not exist.
        due: When each activation was due.
        start: When it began.
        end: When it ended.
        latency: How late it began.
        period: The period: seconds, a time ("250us") or a rate ("4kHz"); found from the times without it.
        task: The task's name.
        overrun: What the loop does with due times that passed.

    Raises:
        Error: The columns do not fit together, or the file cannot be written.
    """
    given = {"due": due, "start": start, "end": end, "latency": latency}
    columns = [(role, _whole(values)) for role, values in given.items() if values is not None]
    return _native.write(path, task, period, columns, overrun)


def _whole(values: Any) -> list[int]:
    """Numbers of any array or sequence, as they are: times are not rounded."""
    whole: list[int] = values.tolist() if hasattr(values, "tolist") else list(values)
    if any(isinstance(value, float) for value in whole[:1]):
        raise TypeError("times are whole nanoseconds: give integers, such as (seconds * 1e9).round().astype(int)")
    return whole


def _task(name: str, period: Time, options: Mapping[str, object]) -> str:
    """A task as `jitterlab run --task` has it."""
    given = "".join(f",{key}={value}" for key, value in options.items() if value is not None)
    return f"name={name},period={_native.period_ns(period)}ns{given}"

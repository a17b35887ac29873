"""The questions that runs are asked."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._answer import Answer, answer
from ._figure import Figure
from ._run import Run, Source, Time, opened

if TYPE_CHECKING:
    from .results import Outlook, RunAnalysis, RunsCompared, RunWhy, ServoResult, StepperResult


def analyze(run: Source, *, task: str | None = None, purpose: str | None = None) -> RunAnalysis:
    """What a run shows: figures, patterns, spikes, drift, missed due times, and for what that is good enough.

    Args:
        run: The run, or its file.
        task: Only this task.
        purpose: Judge for this only, such as "servo-thread" or "robot-1khz"; for all usual ones without it.

    Raises:
        Error: It cannot be read, or there is no such task or purpose.
    """
    from .results import RunAnalysis

    of = opened(run)
    return answer(RunAnalysis, _native.analysis(of._native, task or of._task, purpose))


def why(run: Source, *, task: str | None = None) -> RunWhy:
    """What made starts late, by cause: of runs of `jitterlab run --why` and `jitterlab watch`.

    Args:
        run: The run, or its file.
        task: Only this task.

    Raises:
        Error: It cannot be read or holds no causes, or there is no such task.
    """
    from .results import RunWhy

    of = opened(run)
    return answer(RunWhy, _native.why(of._native, task or of._task))


def predict(
    run: Source,
    *,
    task: str | None = None,
    horizon: Time | None = None,
    claims: Iterable[str] = (),
    require: Iterable[str] = (),
    burst_at_most: int | None = None,
    backtest: Time | None = None,
) -> Outlook:
    """How much worse it can get, or whether requirements are met.

    Args:
        run: The run, or its file.
        task: Only this task.
        horizon: How far to look ahead, in seconds or as "24h"; ten times the run without it.
        claims: How long to run to support these, such as "p(latency > 100us) < 1e-6".
        require: Only decide these requirements, such as "p99.99 < 80us" or "missed = 0".
        burst_at_most: Known otherwise: no more than so many values that break a requirement ever come together.
        backtest: Hold predictions from windows of this length of the run against what came next.

    Raises:
        Error: It cannot be read or keeps too little for that, or a text cannot be understood.
    """
    from .results import Outlook

    of = opened(run)
    asked = (horizon, list(claims), list(require), burst_at_most, backtest)
    return answer(Outlook, _native.outlook(of._native, task or of._task, *asked))


def compare(
    *runs: Source,
    others: Iterable[Source] = (),
    task: str | None = None,
    anyway: bool = False,
    fail_if_worse: float | None = None,
) -> RunsCompared:
    """Which differences between runs, or between two settings, are real.

    Args:
        runs: The runs, or their files; the first is what the others are compared with.
        others: Runs of another setting, measured in turns with `runs` (A B A B): compares the two settings, with the
            spread from run to run as the measure.
        task: Only this task; every one that all runs have without it.
        anyway: Compare even what is not comparable.
        fail_if_worse: Judge whether a figure is higher than in the first by more than this share, such as 0.1
            (`tolerated` of the answer).

    Raises:
        Error: They cannot be read or compared.
    """
    from .results import RunsCompared

    here, there = [opened(run) for run in runs], [opened(run) for run in others]
    name = task or next((run._task for run in here if run._task), None)
    native = [run._native for run in here], [run._native for run in there]
    return answer(RunsCompared, _native.comparison(*native, name, anyway, fail_if_worse))


def stepper(
    run: Source | None = None,
    *,
    task: str | None = None,
    jitter: Time | None = None,
    beside: Source | None = None,
    motor: str | None = None,
    frame: int | None = None,
    torque: str | None = None,
    voltage: str | None = None,
    drive_current: str | None = None,
    microsteps: int | None = None,
    load_torque: str | None = None,
    load_inertia: str | None = None,
    travel: str | None = None,
    drive: str | None = None,
    step_time: Time | None = None,
    step_space: Time | None = None,
    direction_setup: Time | None = None,
    direction_hold: Time | None = None,
    base_period: Time | None = None,
    speed: str | None = None,
    simulate: Time | None = None,
) -> StepperResult:
    """What a run's timing means for a stepper motor: torque, lost steps, step rate.

    Only a motor is needed; what else is not given is assumed, and listed in the answer. Quantities are text with their unit.

    Args:
        run: The run to judge, or its file; the jitter without it.
        task: The task that makes the steps; the one with the shortest period without it.
        jitter: Without a run, latencies assumed to spread over this much.
        beside: A second run to simulate beside the first.
        motor: The motor's data sheet: a name, or a TOML file.
        frame: NEMA frame size, such as 23, for a motor without a data sheet.
        torque: Holding torque, such as "1.9 N m".
        voltage: Supply voltage of the drive, such as "48V".
        drive_current: Current the drive is set to, such as "2.8A".
        microsteps: Microsteps of a full step, such as 16.
        load_torque: Constant load at the shaft, such as "0.4Nm".
        load_inertia: Inertia that moves with the rotor, such as "300gcm2".
        travel: Travel of one revolution, such as "10mm/rev".
        drive: The drive's timing: a name, or a TOML file.
        step_time: Shortest step pulse the drive takes.
        step_space: Shortest pause between pulses.
        direction_setup: Time the direction is set before a step.
        direction_hold: Time the direction is held after a step.
        base_period: Base period of the step generator.
        speed: Speeds for the table: "5rev/s", "300rpm", "600mm/min", a list with commas, or a range.
        simulate: Longest time to simulate, around the worst event; 20 s without it.

    Raises:
        Error: A quantity cannot be understood or is impossible, or the run cannot be read.
    """
    options = _given({name: value for name, value in locals().items() if name not in ("run", "beside")})
    from .results import StepperResult

    of, second = None if run is None else opened(run), None if beside is None else opened(beside)
    if of is not None and of._task is not None:
        options.setdefault("task", of._task)
    return answer(StepperResult, _native.stepper(_native_of(of), _native_of(second), options))


def servo(
    run: Source | None = None,
    *,
    task: str | None = None,
    plant: str | None = None,
    controller: str | None = None,
    period: Time | None = None,
    execution: str | None = None,
    design_delay: Time | None = None,
    overrun: str | None = None,
    sampling: Literal["start", "due"] | None = None,
    actuation: Literal["end", "start", "next-start", "next-due"] | None = None,
    misses: Iterable[str] = (),
    references: Iterable[str] = (),
    redesign: bool = False,
) -> ServoResult:
    """Whether a control loop may be closed with a run's timing: its cost, its stability, what would help.

    Args:
        run: The run to judge, or its file. Without it, what the loop tolerates, or what `execution` would cost.
        task: The task that closes the loop; the one with the longest period without it.
        plant: The plant: a name, a TOML file, or what python-control wrote; "dc-servo" without it.
        controller: Another controller than the plant's: "pd:GAIN:TD", "pid:GAIN:TI:TD", "state-feedback" or "lqg".
        period: Without a run, the period.
        execution: Execution times to judge in place of a run, such as "0.8h:0.9,1.2h:0.1".
        design_delay: Constant delay that the controller's design takes into account.
        overrun: What happens to a job that is not done in time: "skip", "catch-up", "re-phase", "kill" and so on.
        sampling: When the sensors are read.
        actuation: When the output is written.
        misses: Prove stability with at most so many missed periods in so many, such as "2/10".
        references: What to follow in the simulation, such as "move:1:200ms" or "sine:1:0.5Hz".
        redesign: Design the controller anew for the measured timing.

    Raises:
        Error: The plant or an option cannot be understood, or the run cannot be read.
    """
    from .results import ServoResult

    of = None if run is None else opened(run)
    options = _given({
        "task": task or (of._task if of is not None else None),
        "plant": plant,
        "controller": controller,
        "period": period,
        "execution": execution,
        "design_delay": design_delay,
        "overrun": overrun,
        "sampling": sampling,
        "actuation": actuation,
    })
    return answer(ServoResult, _native.servo(_native_of(of), list(misses), list(references), redesign, options))


def plot(*runs: Source, figure: str = "histogram", quantity: str = "latency", task: str | None = None) -> Figure:
    """A figure of runs.

    Args:
        runs: The runs, or their files, drawn into one figure.
        figure: What to draw: "series", "histogram", "percentiles", "spectrum", "time-error", "comparison" and so on.
        quantity: Of what: "latency", "period", "execution", "response".
        task: Only this task.

    Raises:
        Error: There is no such figure, or nothing to draw.
    """
    here = [opened(run) for run in runs]
    name = task or next((run._task for run in here if run._task), None)
    return Figure(_native.plot([run._native for run in here], figure, quantity, name))


def report(path: str | os.PathLike[str], *about: Source | Answer, task: str | None = None) -> None:
    """Writes one HTML page of runs and answers, with figures to explore, that opens without a network.

    Args:
        path: The page; a file of that name is replaced, unless it holds a measurement.
        about: Runs, their files, and answers of `predict`, `compare`, `stepper` and `servo`.
        task: Only this task.

    Raises:
        Error: There is nothing to show, or the page cannot be written.
    """
    answers = [one._native for one in about if isinstance(one, Answer)]
    runs = [opened(one) for one in about if not isinstance(one, Answer)]
    name = task or next((run._task for run in runs if run._task), None)
    _native.write_page([run._native for run in runs], answers, name, path)


def _native_of(run: Run | None) -> _native.Run | None:
    return None if run is None else run._native


# Options that are lengths of time.
_TIMES = (
    "jitter", "step_time", "step_space", "direction_setup", "direction_hold", "base_period", "simulate", "period", "design_delay",
)


def _given(options: dict[str, Any]) -> dict[str, str]:
    """The options that are given, as the command line has them; a time that is a number is in seconds."""

    def text(name: str, value: Any) -> str:
        is_seconds = name in _TIMES and not isinstance(value, str)
        return f"{round(value * 1e9)}ns" if is_seconds else str(value)

    return {name: text(name, value) for name, value in options.items() if value is not None}

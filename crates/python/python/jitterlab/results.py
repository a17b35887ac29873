"""Figures of jitterlab's answers, to compute with.

Each class holds the main figures of what docs/formats/schema.json describes, under the same names; `Answer.result` has
everything that the program prints with --json, and the schema explains each field.

The unit of a number is the end of its name: _ns nanoseconds, _s seconds, _nm newton metres. Shares and probabilities are
between 0 and 1. What is unknown is None, never 0: `unknown` of the task says what its source does not tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ._answer import Answer

Fitness = Literal["good", "limited", "cannot-tell", "unfit"]
Interval = tuple[float, float] | None
"""A confidence interval of 95 %; None where the data supports none."""


@dataclass(frozen=True, kw_only=True)
class Between:
    """A number that is known between bounds; `at_most` is None where only the lower one is known."""

    at_least: int
    at_most: int | None = None


Count = int | Between | None
"""A number as far as it is known."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """The answer in three lines; `asked` if the purpose was asked for, so that a program ends by `fitness`."""

    fitness: Fitness
    asked: bool
    verdict: str
    number: str
    next: str


# The run's description.


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """A task as it was asked for."""

    name: str
    period_ns: int | None
    offset_ns: int = 0
    overrun: str | None = None
    policy: str | None = None
    cpu: int | None = None
    wake: str | None = None
    clock: str | None = None
    compensate: str | None = None
    work: str | None = None


@dataclass(frozen=True, kw_only=True)
class Granted:
    """What the system granted to a task's thread."""

    policy: str
    cpus: list[int]
    memory_locked: bool


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """The counters of a task's thread. `elsewhere` counts activations that ran on another processor than theirs."""

    executed: int | None
    missed: int | None
    dropped: int | None
    min_latency_ns: int | None
    max_latency_ns: int | None
    longest_hole_ns: int | None
    polled_ns: int | None
    elsewhere: int | None
    cpu_time_ns: int | None
    voluntary_switches: int | None
    involuntary_switches: int | None


@dataclass(frozen=True, kw_only=True)
class TaskRun:
    """A task: what was asked for, what was granted, what came out, and what its source does not tell (`unknown`)."""

    spec: TaskSpec
    granted: Granted | None = None
    result: TaskResult | None = None
    unknown: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """The kernel. `preemption` is "none", "voluntary", "lazy", "full" or "real-time"."""

    release: str | None = None
    version: str | None = None
    architecture: str | None = None
    preemption: str | None = None
    tick_hz: int | None = None
    command_line: str | None = None
    distribution: str | None = None


@dataclass(frozen=True, kw_only=True)
class Processor:
    """The processor."""

    vendor: str | None = None
    model: str | None = None


@dataclass(frozen=True, kw_only=True)
class Isolation:
    """Processors kept free of other work, as lists such as "1,3-5"."""

    isolated: str | None = None
    nohz_full: str | None = None
    rcu_nocbs: str | None = None


@dataclass(frozen=True, kw_only=True)
class Virtualisation:
    """Whether the machine is a virtual one."""

    virtual_machine: bool | None = None
    hypervisor: str | None = None
    container: str | None = None


@dataclass(frozen=True, kw_only=True)
class SystemFacts:
    """The machine."""

    kernel: Kernel
    processor: Processor
    isolation: Isolation
    virtualisation: Virtualisation
    uptime_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Something that was asked for and refused."""

    what: str
    why: str
    remedy: str


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """The run's description. `load` is what kept the machine busy, None where that is unknown."""

    tool: str
    command: list[str]
    bench: Literal["host", "kernel", "mcu", "import"]
    started: str
    clock: str
    duration_ns: int | None
    load: list[str] | None = None
    tasks: list[TaskRun]
    refused: list[Refusal]
    facts_before: SystemFacts | None = None
    facts_after: SystemFacts | None = None


# What a run shows.


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """A quantity's values in a few numbers; `percentiles` by name: "p50" to "p99.99"."""

    count: int
    min_ns: int | None
    mean_ns: float | None
    sd_ns: float | None
    max_ns: int | None
    percentiles: dict[str, Count]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The figures of a task. `latency` is per activation, `corrected_latency` per due time: missed ones with their age."""

    task: str
    period_ns: int
    unknown: list[str] = field(default_factory=list)
    overrun: str | dict[str, str] | None
    executed: Count
    missed: Count
    dropped: Count
    latency: Statistics
    corrected_latency: Statistics
    period_error: Statistics
    cycle_to_cycle: Statistics
    execution: Statistics


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What decides for a purpose: the value seen, and how much is good and usable, in nanoseconds or a number of misses."""

    task: str
    measure: Literal["interval", "latency", "period-deviation", "missed"]
    seen: int
    good: int
    limited: int
    open_share: float | None = None


@dataclass(frozen=True, kw_only=True)
class PurposeVerdict:
    """How well a purpose is served, by what; `untested` says why where that could not be tested."""

    purpose: str
    period_ns: int
    fitness: Fitness
    decided_by: Decision | None = None
    untested: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a run is good enough for: `fitness` for the purpose that was `asked` for, or for all."""

    asked: str | None = None
    fitness: Fitness
    purposes: list[PurposeVerdict]


@dataclass(frozen=True, kw_only=True)
class TaskAnalysis:
    """A task of a run. `latency_bins` is its histogram: the largest value of each bin, and how many are in it."""

    summary: Summary
    latency_bins: list[tuple[int, int]]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RunAnalysis(Answer):
    """The answer of `analyze`. `verdict` is None for what says nothing of a machine."""

    file: str
    run: RunInfo
    tasks: list[TaskAnalysis]
    verdict: Verdict | None = None


# Why starts were late.


@dataclass(frozen=True, kw_only=True)
class Cause:
    """What delays: its class, and who where it is somebody."""

    class_: str = field(metadata={"json": "class"})
    who: str | None = None


@dataclass(frozen=True, kw_only=True)
class CauseRow:
    """What a cause did to a task: its share of all lateness and of that of the latest starts, how much of it is proven or likely,
    and the largest latency without it."""

    cause: Cause
    times: int
    sum_ns: int
    worst_ns: int
    share: float
    latest_share: float
    proven: float
    likely: float
    max_without_ns: int | None
    p99_9_without_ns: int | None


@dataclass(frozen=True, kw_only=True)
class TaskWhy:
    """Why a task's starts were late: its causes, the one that made the latest starts late first."""

    task: str
    explained: int
    lateness_ns: int
    max_ns: int
    causes: list[CauseRow]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RunWhy(Answer):
    """The answer of `why`."""

    file: str
    run: RunInfo
    tasks: list[TaskWhy]


# How much worse it can get.


@dataclass(frozen=True, kw_only=True)
class QuantileLimit:
    """With 95 % confidence, no more than `share_above` of the values exceed `limit_ns`, for which `needs` values are needed."""

    share_above: float
    limit_ns: int | None
    needs: int
    if_singly: bool


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What holds whatever the distribution is; `p_max_holds` is the probability that nothing exceeds what was observed."""

    count: int
    run_ns: float
    horizon_ns: float
    observed_max_ns: int
    p_max_holds: float
    expected_exceedances: float
    quantiles: list[QuantileLimit]


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A condition of the extrapolation, by its `id`."""

    id: str
    passed: bool
    statistic: float | None
    critical: float


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What the latency will not exceed within the horizon, with 95 % confidence, if it goes on as in the run."""

    bound_ns: float
    sensitivity: float
    extremal_index: float


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """How much worse it can get; `bound` is None where a gate failed."""

    facts: Facts
    gates: list[Gate]
    bound: Bound | None = None


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """A requirement: `text` as it was written, and what it says."""

    text: str
    subject: str
    limit_ns: int
    share: float


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """How many values there were, how many broke a requirement, and how many may have."""

    values: int
    broke: int
    may_have_broken: int


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Whether a requirement is met (`pass`) or broken (`fail`), with 95 % confidence; `share_limits` of what breaks it."""

    requirement: Requirement
    outcome: Literal["pass", "fail", "not-enough-data", "unknown"]
    evidence: Evidence
    share_limits: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class TaskOutlook:
    """What is said of one task; `prediction` is None with requirements, or where nothing was measured."""

    task: str
    prediction: Prediction | None
    requirements: list[Judgement]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Outlook(Answer):
    """The answer of `predict`."""

    file: str
    tasks: list[TaskOutlook]


# Which differences are real.


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure of a run, such as "p99"; `refusal` says why it has no interval."""

    statistic: str
    value: float
    interval: Interval
    refusal: str | None = None


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """A run that was compared."""

    name: str
    count: int
    max_ns: int | None
    jitter_ns: int | None
    estimates: list[Estimate]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A figure less that of the first run, and their ratio; `real` if chance is excluded."""

    statistic: str
    difference: float
    ratio: float | None
    interval: Interval
    real: bool
    refusal: str | None = None


@dataclass(frozen=True, kw_only=True)
class AgainstFirst:
    """A run against the first; `p_lower` is the probability that its latency is the lower one."""

    name: str
    differences: list[Difference]
    p_lower: float


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Runs, and how the others differ from the first."""

    runs: list[ComparedRun]
    against_first: list[AgainstFirst]


@dataclass(frozen=True, kw_only=True)
class SettingDifference:
    """A figure by run of each of two settings, and how it changes: as a ratio where `relative`, else as a difference."""

    statistic: str
    first: list[float]
    other: list[float]
    relative: bool
    change: float
    interval: Interval
    real: bool


@dataclass(frozen=True, kw_only=True)
class SettingsCompared:
    """Two settings of several runs each."""

    in_turns: bool | None
    differences: list[SettingDifference]


@dataclass(frozen=True, kw_only=True)
class TaskCompared:
    """A task of all runs: its `comparison`, or between two settings `settings`."""

    task: str
    comparison: Comparison | None
    settings: SettingsCompared | None


@dataclass(frozen=True, kw_only=True)
class JudgedFigure:
    """A figure against what is tolerated; `change` and its `limits` are shares of the first run's value."""

    task: str
    run: str
    statistic: str
    change: float | None
    limits: Interval
    fitness: Fitness


@dataclass(frozen=True, kw_only=True)
class Tolerated:
    """Whether a figure is higher by more than the `tolerance`, the worst first."""

    tolerance: float
    fitness: Fitness
    figures: list[JudgedFigure]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RunsCompared(Answer):
    """The answer of `compare`; `tolerated` with `fail_if_worse`."""

    files: list[str]
    tasks: list[TaskCompared]
    tolerated: Tolerated | None = None


# Motors and loops.


@dataclass(frozen=True, kw_only=True)
class RecommendedRate:
    """The fastest steps by software; `limit` is what sets them."""

    steps_per_s: float
    pulses_per_s: float
    base_period_ns: int
    jitter_ns: int
    limit: str


@dataclass(frozen=True, kw_only=True)
class StepperVerdict:
    """Whether software may make the step pulses, and how fast."""

    fitness: Fitness
    recommended: RecommendedRate


@dataclass(frozen=True, kw_only=True)
class SpeedRow:
    """The motor at one speed, in full steps per second: its torque, and the share of it that jitter takes."""

    steps_per_s: float
    torque_nm: float
    linear_share: float
    exact_share: float | None


@dataclass(frozen=True, kw_only=True)
class AxisAssessment:
    """An axis under the timing: the speeds from which on it loses steps by one event, and that its torque allows."""

    base_period_ns: int
    rows: list[SpeedRow]
    step_loss_steps_per_s: float
    torque_limit_steps_per_s: float


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class StepperResult(Answer):
    """The answer of `stepper`."""

    verdict: StepperVerdict
    assessment: AxisAssessment


@dataclass(frozen=True, kw_only=True)
class LoopDescription:
    """The loop, and the period it is designed for."""

    plant: str
    controller: str
    period_ns: int


@dataclass(frozen=True, kw_only=True)
class DelayMargin:
    """How much constant delay a loop tolerates: `ns` where it is stable `up-to` a delay."""

    stable: Literal["never", "up-to", "always"]
    ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Margins:
    """How much more delay and jitter a loop tolerates; `jitter_ns` is None where it tolerates any."""

    delay: DelayMargin
    jitter_ns: float | None


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of a loop; None where it is not stable."""

    cost: float | None


@dataclass(frozen=True, kw_only=True)
class CostInterval:
    """Where a cost lies, with 95 % confidence; `high` is None where the loop may not be stable."""

    low: float
    high: float | None


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What the timing costs: nothing late, mean delay, with jitter, with overruns, with their order: along the run itself."""

    ideal: Cost
    mean_delay: Cost
    jitter: Cost
    independent: Cost
    clustered: Cost
    cost_interval: CostInterval | None
    along: Cost


@dataclass(frozen=True, kw_only=True)
class LoopVerdict:
    """Whether the loop may be closed on this machine."""

    fitness: Fitness


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What a loop was judged by: a run, with its `evaluation`, or execution times, with their `cost` and `ideal`."""

    by: Literal["run", "execution", "constant-delays"]
    verdict: LoopVerdict | None = None
    evaluation: Evaluation | None = None
    ideal: Cost | None = None
    cost: float | None = None
    utilisation: float | None = None


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ServoResult(Answer):
    """The answer of `servo`."""

    loop: LoopDescription
    margins: Margins
    judged: Judged

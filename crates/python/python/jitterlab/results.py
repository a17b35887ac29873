"""What jitterlab's questions are answered with, as dataclasses.

Written by results_from_schema.py from docs/formats/schema.json, which describes the same values as JSON.

The unit of a number is the end of its name: _ns nanoseconds, _s seconds, _nm newton metres, _hz hertz and so on; shares and
probabilities are between 0 and 1. What is unknown is None, never 0: `unknown` of the task beside it says what its source does
not tell. A number that is known between bounds is a value with `at_least` and `at_most`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ._answer import Answer

AnalysisSection = Literal["clusters", "spectrum", "dependence", "spikes", "misses", "change", "time-error"]
"""A part of the analysis that can be asked for.

`clusters`: Latency modes and how they follow each other.

`spectrum`: Periodic parts of the latency.

`dependence`: How much a latency says of the next ones.

`spikes`: The largest latencies, their periods and bursts.

`misses`: Missed due times.

`change`: Drift and changes over the run.

`time-error`: MTIE, TDEV, ADEV, MDEV.
"""


Aperiodic = Literal["gaps", "signals", "wakers"]
"""What other tools measure beside periodic tasks.

`gaps`: How long a busy loop stood still.

`signals`: How long a signal takes from thread to thread.

`wakers`: How long a thread takes to wake up when another wakes it.
"""


Bench = Literal["host", "kernel", "mcu", "import"]
"""Where activations come from.

`host`: A machine that ran the tasks itself.

`kernel`: A kernel image in an emulator's virtual time.

`mcu`: A microcontroller.

`import`: Another tool, whose output was read.
"""


CauseClass = Literal["usual", "tracer", "own-work", "asked-late", "timer-slack", "outside", "idle", "late-interrupt", "interrupts-off", "interrupt", "vector", "softirq", "other-timer", "timer-interrupt", "preempted", "shared", "not-preemptible", "throttled", "migration", "page-fault", "blocked", "slow-return", "lost"]
"""What takes a part of a latency.

`usual`: The usual way of a wake-up, as long as it usually is in this run.

`tracer`: The tracer itself, where it stamps what it does.

`own-work`: The task had not begun to wait: its activation before this one took that long.

`asked-late`: The task asked to be woken later than its due time.

`timer-slack`: Timer slack: the kernel may be late by as much on purpose.

`outside`: Nothing in this kernel held the processor: its host, its firmware or its hardware did.

`idle`: The processor was idle: leaving a deep idle state, or what is outside of this kernel.

`late-interrupt`: The timer interrupt came late, and what held it cannot be told.

`interrupts-off`: Kernel code ran with interrupts off.

`interrupt`: The handler of a device's interrupt.

`vector`: The handler of an interrupt between processors, or of the processor's own.

`softirq`: Work that interrupts put off (softirq).

`other-timer`: Another timer that expired in the same interrupt.

`timer-interrupt`: The timer interrupt itself, before or after the timers in it, and in a virtual machine the
setting of the task's timer.

`preempted`: A thread of higher priority.

`shared`: A thread of the same priority or, among ordinary threads, any other.

`not-preemptible`: A thread of lower priority that was in the kernel, which does not let go there.

`throttled`: The kernel ran threads of lower priority on purpose: the limit on real-time computing, or a used-up
budget.

`migration`: The task went on at another processor.

`page-fault`: A page that was not in memory.

`blocked`: The task waited for another thread: a lock, a condition, a message.

`slow-return`: The task had the processor and took longer than usual to its first instruction.

`lost`: Events of this time were lost.
"""


Chore = Literal["new-interrupts", "unbound-work", "write-back", "watchdogs", "other-timers", "new-programs"]
"""What the kernel does anywhere unless told otherwise, apart from single threads and interrupts.

`new-interrupts`: Interrupts of devices that appear later.

`unbound-work`: Work that drivers and file systems put off, not bound to a CPU.

`write-back`: Writing files back to the disk.

`watchdogs`: The detectors of locked-up CPUs.

`other-timers`: Timers of other CPUs.

`new-programs`: Programs started later, by a control group.
"""


DueTimes = Literal["own-timer", "fitted-grid"]
"""Where due times come from.

`own-timer`: The timer that the thread itself sets.

`fitted-grid`: A grid fitted to the starts: the earliest start of the first seconds counts as in time.
"""


Fate = Literal["gone", "new", "stayed"]
"""What became of a cause from one run to another.

`gone`: It was not seen again, and would have been often.

`new`: It was not seen before, and would have been often.

`stayed`: It is in both, or too seldom to say.
"""


Fitness = Literal["good", "limited", "cannot-tell", "unfit"]
"""How well something serves a purpose: the verdict of every command that judges, from the best to the worst.

`good`: It serves the purpose as far as was tested.

`limited`: It serves the purpose with a restriction that is named.

`cannot-tell`: What was measured does not suffice to say, or the source does not tell what decides.

`unfit`: It does not serve the purpose.
"""


Gap = Literal["period", "count", "missed", "lost", "execution", "due-times", "phase", "latency", "grid", "overrun", "settings"]
"""Something that the source of a task's activations does not tell: whatever stands for it is an assumption, and the
figures that rest on it are unknown.

`period`: The period: the usual one of the tool is assumed.

`count`: How many activations ran: as many as fit into the time are assumed.

`missed`: Which due times were missed.

`lost`: Whether records were lost.

`execution`: How long the task's own work took.

`due-times`: Due times: they are assumed to follow each other without a miss, so what is between two starts is
unknown.

`phase`: Where the grid of due times lies: they count from the earliest activation, so each latency is known up to
the same amount.

`latency`: When activations were due at all: only what lies between two starts is known.

`grid`: There is no grid: what was measured is not periodic, such as the gaps of a busy loop. Nothing is due at a
time.

`overrun`: What happens to due times that passed.

`settings`: How the task was scheduled, waited and worked.
"""


Guarantee = Literal["stable", "unstable", "undecided"]
"""What is known of the stability under any allowed sequence.

`stable`: Every sequence dies out: proved.

`unstable`: A sequence does not: shown.

`undecided`: Neither is proved.
"""


Larger = Literal["first", "here"]
"""One of two runs.

`first`: The first.

`here`: The other.
"""


LoadUnit = Literal["bytes", "operations"]
"""What a load counts.

`bytes`: Bytes touched, transferred, written or read.

`operations`: System calls, processes made, interrupts.
"""


Measure = Literal["interval", "latency", "period-deviation", "missed"]
"""A quantity that decides whether a purpose is served.

`interval`: The largest deviation of an interval between two starts from the period, to either side, in ns:
LinuxCNC's max jitter.

`latency`: The largest latency, in ns.

`period-deviation`: The standard deviation of the periods, in ns.

`missed`: How many due times were missed.
"""


Memory2 = Literal["none", "one", "longer"]
"""How classes follow each other.

`none`: As by chance.

`one`: What comes depends on what came last: a Markov chain.

`longer`: It depends on more than that; the chain of one step is an approximation.
"""


Outcome = Literal["pass", "fail", "not-enough-data", "unknown"]
"""What a run says of a requirement.

`pass`: It is met, with 95 % confidence.

`fail`: It is broken, with 95 % confidence.

`not-enough-data`: The run is too short to say.

`unknown`: What is required is unknown of its source.
"""


Overrun = Literal["skip", "catch-up", "re-phase"]
"""What happens to due times that passed before the task ran.

`skip`: Go to the next due time on the grid; those that passed are missed. (cyclictest, timerlat)

`catch-up`: Run every missed one, back to back. (LinuxCNC, jitterdebugger)

`re-phase`: Restart the grid one period from now; the lost phase is recorded.
"""


Part = Literal["writing-flash", "boot-vectors", "usb", "fast-timer", "external-memory", "clock-division", "reserved", "second-core", "pio", "dma", "pwm", "adc", "spi", "two-wire", "real-time-clock", "watchdog", "interpolator", "serial-interrupts"]
"""A part of a chip that is not simulated.

`writing-flash`: Writing flash.

`boot-vectors`: Interrupt vectors in the boot section.

`usb`: USB.

`fast-timer`: Timer 4 of the ATmega16U4 and 32U4.

`external-memory`: Memory outside of the chip.

`clock-division`: The division of the clock by XDIV.

`reserved`: A register that the manual calls reserved.

`second-core`: The second core.

`pio`: Programmable input and output (PIO).

`dma`: Direct memory access.

`pwm`: Pulse width modulation.

`adc`: The converter of voltages.

`spi`: SPI.

`two-wire`: The two-wire interface (I2C).

`real-time-clock`: The clock of the time of day.

`watchdog`: The watchdog's reset.

`interpolator`: The interpolators.

`serial-interrupts`: Interrupts of serial ports.
"""


Preemption = Literal["none", "voluntary", "lazy", "full", "real-time"]
"""When the kernel lets a more urgent task interrupt its own work.

`none`: Never inside the kernel (`PREEMPT_NONE`, servers).

`voluntary`: At marked points (`PREEMPT_VOLUNTARY`, desktops).

`lazy`: At the next tick for ordinary tasks, at once for real-time ones (`PREEMPT_LAZY`).

`full`: Everywhere but in interrupts and under spin locks (`PREEMPT`).

`real-time`: Almost everywhere, interrupts and spin locks included (`PREEMPT_RT`).
"""


ReadClock = Literal["monotonic", "monotonic-raw", "tsc"]
"""The clock that a task's start and end are read from. All of them are stated in nanoseconds of CLOCK_MONOTONIC, the
two others through a fit whose error is recorded.

`monotonic`: CLOCK_MONOTONIC, the clock that due times are on.

`monotonic-raw`: CLOCK_MONOTONIC_RAW: not slewed by NTP.

`tsc`: The processor's counter: the time stamp counter of x86, the virtual counter of ARM.
"""


Refusal2 = Literal["few-events", "too-dependent", "too-short", "unknown", "no-method"]
"""Why a figure has no interval.

`few-events`: Too little lies beyond it that is independent: a burst or two decide it.

`too-dependent`: Latencies stay alike for too large a part of the run.

`too-short`: The run has too few parts.

`unknown`: The run's source does not tell what it takes.

`no-method`: No method that was tried holds for dependent latencies.
"""


Required = Literal["latency", "period-error", "execution", "response", "missed"]
"""What is measured of each due time or activation.

`latency`: Release latency of each due time; a missed one counts with its age.

`period-error`: Size of the period error, |(w_k - w_{k-1}) - T|.

`execution`: Execution time.

`response`: Response time, end - due.

`missed`: Whether the due time was missed.
"""


Setting = Literal["clocksource", "online-cpus", "governor", "lowest-frequency", "highest-frequency", "disabled-idle-states", "dma-latency", "real-time-limit", "turbo", "timer-migration", "isolated-cpus"]
"""A setting of the machine that matters for timing.

`clocksource`: What the kernel reads the time from.

`online-cpus`: The CPUs that are online.

`governor`: What chooses a CPU's frequency.

`lowest-frequency`: The lowest frequency a CPU may have.

`highest-frequency`: The highest frequency a CPU may have.

`disabled-idle-states`: The idle states that are forbidden on a CPU.

`dma-latency`: The longest wake-up time that `/dev/cpu_dma_latency` allows.

`real-time-limit`: How much time real-time tasks may use.

`turbo`: Whether the processor may exceed its nominal frequency.

`timer-migration`: Whether idle CPUs hand their timers to busy ones.

`isolated-cpus`: The CPUs that are isolated.
"""


SleepClock = Literal["monotonic", "realtime", "tai"]
"""The clock that a task sleeps on.

`monotonic`: CLOCK_MONOTONIC: never stepped.

`realtime`: CLOCK_REALTIME: civil time, may be stepped.

`tai`: CLOCK_TAI: civil time without leap seconds, may be stepped.
"""


Statistic = Literal["mean", "standard-deviation", "median-execution", "p50", "p90", "p99", "p99.9", "p99.99", "missed-share", "max"]
"""A figure that is compared.

`mean`: Mean latency.

`standard-deviation`: Standard deviation of the latency.

`median-execution`: Median execution time, from a microsecond on: less is mostly the reading of the clock.

`p50`: Median latency.

`p90`: 90 % quantile.

`p99`: 99 % quantile.

`p99.9`: 99.9 % quantile.

`p99.99`: 99.99 % quantile.

`missed-share`: Share of the due times missed (not a time).

`max`: Largest latency.
"""


StepLimit = Literal["motor", "ticks", "lost-steps"]
"""What limits a step rate.

`motor`: The motor itself: it carries its load no faster.

`ticks`: The base period: no shorter one leaves the drive its time before the tick that follows the latest one.

`lost-steps`: The latest tick: faster, the motor would lose steps by it.
"""


StepMode = Literal["double-step", "single-step"]
"""How step pulses are made.

`double-step`: Rising and falling edge in one base period (parallel port reset): one period for each step.

`single-step`: One edge in each base period: two periods for each step.
"""


Ticks = Literal["punctual", "run", "beside"]
"""Which ticks a simulation plays.

`punctual`: Punctual ones.

`run`: The run's.

`beside`: The second run's, for comparison.
"""


Waits = Literal["nanosleep", "nanosleep-relative", "timerfd", "timer-signal", "deadline", "timed-futex", "futex", "timed-poll", "read", "packet", "interrupt"]
"""How a thread waits for its next activation.

`nanosleep`: `clock_nanosleep` to an absolute time.

`nanosleep-relative`: `nanosleep` or `clock_nanosleep` for some time.

`timerfd`: A timer read as a file, by itself or among others (`epoll`, `poll`, `select`).

`timer-signal`: A timer's signal.

`deadline`: SCHED_DEADLINE's next period.

`timed-futex`: A condition or lock (futex), with a time at which the wait ends by itself.

`futex`: A condition or lock (futex) that another thread gives.

`timed-poll`: `epoll`, `poll` or `select` with a time at which the wait ends by itself.

`read`: Something to read, from another thread or program.

`packet`: A packet of the network.

`interrupt`: An interrupt of a device.
"""


WakeMethod = Literal["nanosleep", "nanosleep-relative", "timer-signal", "timerfd", "deadline", "spin", "cobalt", "evl"]
"""How the task waits for its due time.

`nanosleep`: `clock_nanosleep` to the absolute due time.

`nanosleep-relative`: `clock_nanosleep` for one period after each activation, as many programs do: it drifts.

`timer-signal`: A POSIX timer whose signal is waited for with `sigwaitinfo`.

`timerfd`: A timer read as a file.

`deadline`: The kernel releases a SCHED_DEADLINE thread at each of its own periods.

`spin`: Never waits: reads the clock until the due time.

`cobalt`: Sleeps as a thread of Xenomai 3's Cobalt core, on its clock.

`evl`: Sleeps as a thread of Xenomai 4's EVL core, on its clock.
"""


Weight = Literal["refuse", "warn"]
"""How much a difference between two runs' conditions weighs.

`refuse`: The figures mean something else: no comparison.

`warn`: It may be the very change that is tested; if it is not, the comparison is not of what it seems.
"""



@dataclass(kw_only=True)
class ActionCost:
    """The loop under an overrun action."""

    action: str
    """The action."""
    cost: float | None = None
    """Mean cost per second; infinite when the loop is not mean-square stable."""
    interval_periods: float
    """Mean length of a step in periods."""
    radius_per_period: float | None = None
    """By how much the covariance of a disturbance shrinks in each period: the same whatever the steps are. Below one
    if and only if the loop is mean-square stable.
    """
    spectral_radius: float | None = None
    """Spectral radius of the covariance's map over one step of the schedule (a job, or a cycle of them): below one if
    and only if the loop is mean-square stable.
    """


@dataclass(kw_only=True)
class Activity:
    """Counters of the machine as a whole."""

    context_switches: int | None = None
    """Context switches of all CPUs."""
    corrected_memory_errors: int | None = None
    """Memory errors that were corrected (EDAC)."""
    forks: int | None = None
    """Processes and threads made."""
    load_1_min: float | None = None
    """Runnable and uninterruptible tasks, averaged over a minute."""
    major_faults: int | None = None
    """Page faults that needed a disk."""
    page_faults: int | None = None
    """Page faults of all programs, those that need a disk included."""
    uncorrected_memory_errors: int | None = None
    """Memory errors that could not be corrected (EDAC)."""


@dataclass(kw_only=True)
class AgainstFirst:
    """A run against the first one."""

    differences: list[Difference]
    """Its figures against the first run's."""
    hedges_g: float | None = None
    """Difference of the means in standard deviations (Hedges' g)."""
    maxima: Maxima | None = None
    """How the largest latencies compare; None where a run is too short or too dependent for it."""
    name: str
    """What the run is called."""
    p_lower: float
    """Probability that a latency here is below one of the first run, ties split (0.5 if alike; 1 - Vargha & Delaney's
    A).
    """
    shifts: list[QuantileShift]
    """The shift of quantiles."""


@dataclass(kw_only=True)
class AlongTrace:
    """What the trace cost."""

    cost: float | None = None
    """Mean cost over the trace."""
    curve: list[CostStretch]
    """Mean cost of successive stretches of equal length."""
    time_s: float
    """Time of the trace in s."""


@dataclass(kw_only=True)
class AngleRange:
    """What the load angle did in one interval: no spike is lost however long the interval is."""

    from_s: float
    """Begin, in s."""
    max_steps: float
    """Largest load angle in full steps."""
    min_steps: float
    """Smallest load angle in full steps."""


@dataclass(kw_only=True)
class Assumed:
    """A figure that was not given, with the value taken. `like` is the shipped motor it was taken from: the closest in
    holding torque that has the figure.

    `rated-current`: The motor's rated current, that of another.

    `resistance`: Its winding's resistance, for the same copper with other turns.

    `inductance`: Its winding's inductance, for the same copper with other turns.

    `rotor-inertia`: Its rotor's inertia, in proportion to the holding torque.

    `detent-torque`: Its detent torque, in proportion to the holding torque.

    `drive-timing`: The drive's times: StepConf's defaults.

    `supply-voltage`: The supply voltage, the usual one for the size.

    `microsteps`: Microsteps of a full step, a common setting.

    `load-torque`: The load torque: half of the holding torque, as in NIST's table 1.

    `load-inertia`: The inertia that moves with the rotor: as much as the rotor's.

    `friction`: Viscous friction, as a share of critical damping.
    """

    current_a: float | None = None
    """In A."""
    figure: Literal["rated-current", "resistance", "inductance", "rotor-inertia", "detent-torque", "drive-timing", "supply-voltage", "microsteps", "load-torque", "load-inertia", "friction"]
    like: str | None = None
    """Whose it is."""
    resistance_ohm: float | None = None
    """In ohm."""
    inductance_h: float | None = None
    """In H."""
    inertia_kg_m2: float | None = None
    """In kg m^2."""
    share: float | None = None
    """Of the holding torque."""
    torque_nm: float | None = None
    """In N m."""
    direction_ns: int | None = None
    """Setup of the direction, and its hold."""
    step_space_ns: int | None = None
    """Pause between pulses."""
    step_time_ns: int | None = None
    """Length of a step pulse."""
    voltage_v: float | None = None
    """In V."""
    microsteps: int | None = None
    """How many."""
    damping: float | None = None
    """Of critical damping."""
    friction: float | None = None
    """In N m s/rad."""


@dataclass(kw_only=True)
class AtMost:
    """At most this many misses in any so many periods in a row."""

    misses: int
    """m: the most misses."""
    of: int
    """K: in so many periods in a row."""


@dataclass(kw_only=True)
class Axis:
    """A motor with everything needed to compute with it."""

    assumed: list[Assumed]
    """What was not given, and what was taken instead."""
    drive: Drive
    """The drive's timing."""
    friction: float
    """Viscous friction in N m s/rad."""
    lead_mm: float | None = None
    """Travel of one revolution in mm, if a lead screw or belt was named."""
    load_inertia_kg_m2: float
    """Inertia that moves with the rotor, in kg m^2."""
    load_torque_nm: float
    """Constant load torque in N m."""
    microsteps: int
    """Microsteps of a full step."""
    motor: Motor
    """The motor; its optional figures are present."""
    supply: Supply
    """Voltage and current."""


@dataclass(kw_only=True)
class AxisAssessment:
    """The answer."""

    base_period_ns: int
    """Base period of the step generator taken for quantisation and beat, in ns."""
    reversal: Reversal
    """A change of direction on `AxisAssessment::base_period_ns`."""
    ring_hz: float
    """Ring frequency of rotor and load at the load torque, in Hz."""
    risk_at_base: TimingRisk | None = None
    """The risk at `AxisAssessment::base_period_ns`; None without a run."""
    risk_at_stepconf: TimingRisk | None = None
    """The risk at StepConf's period; None without a run."""
    rows: list[SpeedRow]
    """The table."""
    step_loss_steps_per_s: float
    """Speed above which the worst event would lose steps, in full steps per second."""
    stepconf: StepConf
    """LinuxCNC StepConf's answer for this jitter."""
    stepconf_other: StepConf
    """Its formulas in the step mode that it does not choose for this drive."""
    thresholds: tuple[Threshold, Threshold, Threshold]
    """Speeds at which jitter costs 1 %, 10 % and all of the available torque."""
    timing: StepTiming
    """The timing it rests on."""
    torque_limit_steps_per_s: float
    """Fastest speed at which the motor alone has the load torque, in full steps per second."""
    unviolated: TimingRisk | None = None
    """jitterlab's own: the shortest base period the run would not once have violated; None without a run."""


@dataclass(kw_only=True)
class Basis:
    """What the intervals of a run rest on.

    `dependence`: The order of its parts: what is alike in neighbours is allowed for.

    `if-independent`: Only a histogram is known, without order: intervals hold if latencies are independent of each
    other.

    `too-dependent`: Latencies stay alike for too large a part of the run: no intervals.

    `too-short`: It has too few parts.
    """

    correlation_ns: float | None = None
    """The time over which latencies stay alike (integrated correlation time); None where it is shorter than a part."""
    degrees: int | None = None
    """Degrees of freedom that this leaves."""
    effective: float | None = None
    """As many independent values say as much of the mean."""
    id: Literal["dependence", "if-independent", "too-dependent", "too-short"]
    part_ns: float | None = None
    """The length of a part."""
    needs_ns: float | None = None
    """A run of this length would have intervals of the mean, if it goes on so."""


@dataclass(kw_only=True)
class Beat:
    """The slow pattern in the intervals: how often the odd interval comes."""

    frequency_hz: float
    """|f_b/f - nearest whole number| f, in Hz; zero when every interval is the same."""
    off_resonance: float
    """Its distance from a resonance, |f_beat - f_r| / f_r."""


@dataclass(kw_only=True)
class Because:
    """What speaks for a choice of CPUs.

    `none-listed`: The machine does not say which CPUs it has.

    `asked-for`: They were asked for.

    `only-one`: It is the only one that this process may use.

    `isolated`: They are isolated from other tasks.

    `no-tick`: They have no tick while one task runs.

    `away-from-zero`: They are away from CPU 0.

    `free-siblings`: The other threads of their cores are free of jitterlab's own threads.

    `shared-cache`: They share a cache.
    """

    reason: Literal["none-listed", "asked-for", "only-one", "isolated", "no-tick", "away-from-zero", "free-siblings", "shared-cache"]
    cpus: str | None = None
    """These threads."""
    isolated: bool | None = None
    """Whether these are isolated as well."""
    level: int | None = None
    """Its level."""


@dataclass(kw_only=True)
class Bound:
    """An upper bound of the largest latency within the horizon: with 95 % confidence, the maximum stays below it with
    95 % probability, if the observed mechanism and load persist.
    """

    bound_ns: float
    """The bound."""
    cause: Cause | None = None
    """The cause whose late starts alone give this bound, where they reach further than all together."""
    extremal_index: float
    """How many latencies come together (extremal index; 1 if each for itself)."""
    fits: list[TailFit]
    """The fits behind it; the bound is that of the middle one."""
    sensitivity: float
    """The largest bound of the fits over the smallest: how much the choice matters."""


@dataclass(kw_only=True)
class Burst:
    """Bursts of one length (of a narrow range of lengths from 256 on)."""

    count: int
    """How many there were."""
    from_: int = field(metadata={'json': 'from'})
    """Shortest length counted here, in due times."""
    to: int
    """Longest length counted here."""


@dataclass(kw_only=True)
class Bursts:
    """How the spikes of a run come."""

    bursts: list[Cluster]
    """Bursts of two and more spikes, the largest first (at most 100)."""
    bursty: bool
    """Whether they come in bursts, at `LEVEL`."""
    extremal_index: float | None = None
    """Extremal index: 1 if each comes for itself, 1 / its inverse come together otherwise."""
    gap: int
    """Distance in due times up to which spikes are one burst; 0 if they are not bursty."""
    mean_size: float
    """Spikes in a burst in the mean, those of one included."""
    p: float
    """Probability of so many short distances between independent spikes."""
    spikes: int
    """How many there are."""
    threshold_ns: int
    """Spikes are latencies from here on."""


@dataclass(kw_only=True)
class Cache:
    """A data or unified cache."""

    cpus: str = ""
    """The CPUs that share it."""
    level: int = 0
    """1 is nearest to the core."""
    size_bytes: int | None = None
    """Its size."""


@dataclass(kw_only=True)
class CallCount:
    """How often a system call was made."""

    number: int
    """Its number."""
    times: int
    """How often."""


@dataclass(kw_only=True)
class Cause:
    """What takes a part of a latency, by name."""

    class_: CauseClass = field(metadata={'json': 'class'})
    """What kind it is of."""
    who: str | None = None
    """The thread, interrupt, softirq, or function of a timer; None where there is none, or it does not matter."""


@dataclass(kw_only=True)
class CauseCompared:
    """One cause in each of several runs."""

    cause: Cause
    """The cause."""
    fate: Fate
    """What became of it from the first run to the last."""
    in_runs: list[CauseIn]
    """What it did in each run."""


@dataclass(kw_only=True)
class CauseIn:
    """What a cause did in a run."""

    mean_ns: float
    """By how much it delayed an activation in the mean of all."""
    times: int
    """Activations that it delayed."""
    worst_ns: int
    """By how much at worst."""


@dataclass(kw_only=True)
class CausesCompared:
    """What delayed a task in each of several runs."""

    causes: list[CauseCompared]
    """Each cause beside the usual way, the one that differs most first."""
    runs: list[str]
    """What the runs are called, the first one first."""


@dataclass(kw_only=True)
class Caveat:
    """A reason to trust the figures of a task less, or to apply them to less.

    `two-clocks`: The due times that another tool told are of another clock than the starts, as it seems: they are
    judged without that.

    `dropped`: Records were lost: the extremes hold them, the other figures do not.

    `not-closed`: The run was not closed: what came after its last record is not known.

    `overloaded`: The run was ended to save the machine.

    `wait-failed`: The run ended because a task could not wait any more.

    `stopped-above`: The run ended at the first latency above the wanted limit.

    `crashed`: The measuring process died; its records were recovered.

    `outside-core`: Activations began outside the real-time mode of their core: those measure Linux.

    `not-real-time`: The task ran under an ordinary policy: any other thread may delay it.

    `memory-not-locked`: Memory was not locked: a page fault may delay the task.

    `kernel`: The kernel is not a real-time kernel.

    `virtual-machine`: The machine is a virtual one, whose host's load is part of the figures.

    `machine`: Something happened to the machine while it measured: steal time, SMIs, throttling, changed settings.

    `moved`: Something moved the task off the processor it was bound to.

    `other-threads`: Real-time threads of other programs ran last on the task's CPUs, before or after the run.

    `latency-held`: Somebody held `/dev/cpu_dma_latency`, which keeps CPUs out of deep idle states: the machine was
    better than it is when nobody does.

    `replenishment-phase`: A part of the latency is the phase of the kernel's own periods, which can jump: a task
    that SCHED_DEADLINE releases begins when its runtime is replenished, not when it is due.

    `throttled`: The task polls all the time, and the kernel stops real-time tasks that take more than their share:
    the longest hole is as long as that stop.

    `no-load`: No load was started beside the task: under load the worst case is usually much later. What the
    machine did all the same:

    `length`: What comes this rarely may not have shown.
    """

    id: Literal["two-clocks", "dropped", "not-closed", "overloaded", "wait-failed", "stopped-above", "crashed", "outside-core", "not-real-time", "memory-not-locked", "kernel", "virtual-machine", "machine", "moved", "other-threads", "latency-held", "replenishment-phase", "throttled", "no-load", "length"]
    millionths: float | None = None
    """By how many millionths starts gain on due times; below 0 they lose."""
    records: int | None = None
    """How many."""
    overload: Overload | None = None
    """What was seen."""
    task: str | None = None
    """The task that could not keep up."""
    why: str | None = None
    """What the system answered, in its words."""
    latency_ns: int | None = None
    """That latency."""
    activations: int | None = None
    """How many."""
    core: str | None = None
    """The core, such as `cobalt`."""
    last_cause: str | None = None
    """What last made the task leave it."""
    policy: str | None = None
    """The policy."""
    preemption: Preemption | None = None
    """Its preemption model."""
    hypervisor: str | None = None
    """What runs it, where that is known."""
    change: Change | None = None
    """What."""
    bound: int | None = None
    """The processor it was bound to."""
    elsewhere: int | None = None
    """Activations that began elsewhere."""
    executed: int | None = None
    """Activations in all."""
    other: int | None = None
    """Where the last of them began."""
    threads: list[str] | None = None
    """Their names, with policy and priority."""
    us: int | None = None
    """At this limit, in microseconds."""
    least_ns: int | None = None
    """The smallest latency."""
    usual_ns: int | None = None
    """The usual one."""
    hole_ns: int | None = None
    """The longest hole."""
    period_us: int | None = None
    """... of so many."""
    runtime_us: int | None = None
    """The share that real-time tasks get, in microseconds ..."""
    cpus: int | None = None
    """How many CPUs that is of."""
    load_1_min: float | None = None
    """Tasks running or waiting, on average over the minute before the run or its last one, whichever is more."""
    run_ns: int | None = None
    """Length of the run."""
    unseen_every_ns: float | None = None
    """An event that comes so often or more often has shown with 95 % probability."""


@dataclass(kw_only=True)
class Change:
    """Something that happened to the machine while it was measured.

    `steal`: The hypervisor took a CPU away.

    `system-management`: The firmware stopped all CPUs with system-management interrupts.

    `throttling`: A CPU was throttled for heat.

    `power-supply`: The board's firmware reported low voltage or throttling.

    `machine-check`: The processor reported hardware errors.

    `memory-errors`: The memory had errors.

    `setting`: A setting was changed.

    `swap`: Swap space in use grew.

    `device-interrupts`: Devices interrupted a measured CPU.

    `kernel-interrupts`: A measured CPU took interrupts of the kernel's own.

    `idle-state`: A measured CPU entered idle states; this is the deepest of them.

    `major-faults`: Programs waited for the disk to get a page of memory.
    """

    cpu: int | None = None
    """The CPU."""
    event: Literal["steal", "system-management", "throttling", "power-supply", "machine-check", "memory-errors", "setting", "swap", "device-interrupts", "kernel-interrupts", "idle-state", "major-faults"]
    share: float | None = None
    """As a share of the time, 0 to 1."""
    stolen_ns: int | None = None
    """For how long in all."""
    times: int | None = None
    """How often."""
    corrected: int | None = None
    """Those that were corrected."""
    uncorrected: int | None = None
    """Those that were not."""
    after: str | None = None
    """What it is."""
    before: str | None = None
    """What it was."""
    setting: Setting | None = None
    """Which."""
    bytes: int | None = None
    """By how much."""
    interrupts: list[tuple[str, str, int]] | list[tuple[str, int]] | None = None
    """Number, name and count of each interrupt, the most frequent first."""
    exit_us: int | None = None
    """The longest time it takes to leave it."""
    state: str | None = None
    """The state's name, such as `C6`."""


@dataclass(kw_only=True)
class Change2:
    """Slow change of the latency over the run."""

    found: bool
    """Whether the level drifts, jumps or wanders."""
    kpss: Kpss | None = None
    """Test of the means for a constant level."""
    levels: list[Segment]
    """Stretches between jumps of the means; one if there is none."""
    means_ns: list[float]
    """Mean latency of each part, spikes cut off."""
    part_due_times: int
    """Due times in each part that the figures below are of."""
    runs: Runs | None = None
    """Test of the means for random order."""
    trend: Trend | None = None
    """Drift of the means, in ns from part to part."""


@dataclass(kw_only=True)
class ChannelMargins:
    """Phase margins of one input's loop, in degrees; None where the gain never crosses one."""

    crossover_rad_per_s: float | None = None
    """Crossover without delay in rad/s."""
    delayed_degrees: float | None = None
    """With the constant delay of `Margins::with_delay_ns`."""
    name: str
    """The output's name."""
    punctual_degrees: float | None = None
    """Without delay."""


@dataclass(kw_only=True)
class ClaimPlan:
    """How long to run to support a claim with 95 % confidence."""

    at_this_rate: PlannedRun | None = None
    """This run made longer, if it goes on as it did. None if it would never support the claim."""
    if_no_more_break: PlannedRun
    """This run made longer, if nothing more breaks it."""
    if_none_breaks: PlannedRun
    """A fresh run in which nothing breaks it."""
    now: Judgement
    """The claim, and what the run says of it now."""
    together: float
    """So many breaches are taken to come together: as they did, as is known, or 1 where nothing is known of it."""


@dataclass(kw_only=True)
class Clock:
    """What the kernel keeps time with."""

    available: list[str] = field(default_factory=list)
    """The clocksources there are, best first."""
    high_resolution: bool | None = None
    """Whether high-resolution timers are active."""
    resolution_ns: int | None = None
    """Resolution of timers: 1 ns with high-resolution timers, else the tick."""
    source: str | None = None
    """The clocksource in use, such as `tsc`."""


@dataclass(kw_only=True)
class ClockFit:
    """A least-squares fit of another clock against CLOCK_MONOTONIC, from pairs of readings taken through the run."""

    max_error_ns: int = 0
    """The largest such error."""
    pairs: int = 0
    """Pairs of readings."""
    rms_error_ns: int = 0
    """Root mean square of the error of stated times at the pairs, before each pair entered the fit."""
    units_per_s: int = 0
    """Rate of the clock: its units per second of CLOCK_MONOTONIC, over the whole run."""


@dataclass(kw_only=True)
class Cluster:
    """Exceedances that belong together: a cause's worth of them."""

    exceedances: int
    """Exceedances in it."""
    first: int
    """Position of its first exceedance."""
    last: int
    """Position of its last exceedance."""
    max_ns: int
    """Its largest value."""


@dataclass(kw_only=True)
class ComparedRun:
    """One run in a comparison."""

    basis: Basis
    """What its intervals rest on."""
    count: int
    """Activations that ran."""
    estimates: list[Estimate]
    """Its figures."""
    jitter_ns: int | None = None
    """Largest minus smallest latency: release jitter."""
    max_ns: int | None = None
    """Largest latency. No interval: it says how long the run was as much as how good."""
    name: str
    """What to call it."""


@dataclass(kw_only=True)
class Comparison:
    """Runs side by side."""

    against_first: list[AgainstFirst]
    """All but the first against it."""
    runs: list[ComparedRun]
    """The runs, the one others are compared with first."""


@dataclass(kw_only=True)
class CoreUse:
    """How a task fared on a Xenomai core."""

    core: str = ""
    """`cobalt` or `evl`."""
    gravity_ns: int = 0
    """The core's gravity for threads: by how much it lets them wake early."""
    last_cause: str | None = None
    """What moved it there last, where the core said so."""
    mode_switches: int = 0
    """How often the thread was moved to Linux's side."""
    outside: int = 0
    """Activations that began outside real-time mode (relaxed, in-band): they measure Linux, not the core."""


@dataclass(kw_only=True)
class CostStretch:
    """A stretch of a trace."""

    cost: float | None = None
    """Mean cost; infinite where the loop left all numbers behind."""
    from_s: float
    """Begin, in s."""


@dataclass(kw_only=True)
class Cpu:
    """One online CPU."""

    capacity: int | None = None
    """Its computing power where CPUs differ: 1024 for the strongest."""
    core: int | None = None
    """Its core, numbered within the package."""
    core_throttle_count: int | None = None
    """How often its core was throttled for heat."""
    frequency: Frequency | None = None
    """How its frequency is chosen."""
    id: int = 0
    """Its number."""
    idle_states: list[IdleState] = field(default_factory=list)
    """The idle states it may enter, lightest first."""
    numa_node: int | None = None
    """Its NUMA node."""
    package: int | None = None
    """The package (socket) it is in."""
    package_throttle_count: int | None = None
    """How often its package was throttled for heat."""
    resume_latency_limit_us: int | None = None
    """The longest time it may take to wake up, as set for this CPU alone; None where there is no limit."""
    siblings: str = ""
    """The CPUs of the same core, itself included (SMT siblings)."""
    smi_count: int | None = None
    """System-management interrupts since it was reset (Intel, MSR 0x34)."""
    times: CpuTimes | None = None
    """Where its time went."""


@dataclass(kw_only=True)
class CpuTimes:
    """Where the time of a CPU went, in nanoseconds since the machine started (counted in steps of 10 ms)."""

    idle_ns: int = 0
    """Nothing to do, or waiting for a disk."""
    irq_ns: int = 0
    """Interrupts."""
    softirq_ns: int = 0
    """Deferred work of interrupts."""
    steal_ns: int = 0
    """Taken away by the hypervisor for others."""
    system_ns: int = 0
    """The kernel, on behalf of programs."""
    user_ns: int = 0
    """Ordinary programs, niced ones and guests included."""


@dataclass(kw_only=True)
class Decision:
    """The quantity that decides about a purpose."""

    at_most: bool | None = None
    """Whether that is the most it may have been: intervals, where only latencies are told."""
    good: int
    """Up to this it is good."""
    limited: int
    """Up to this the purpose is served with restrictions, above it not at all."""
    measure: Measure
    """The quantity."""
    open_share: float | None = None
    """The share of the activations that may break the limit all the same, where none of the run did: with 95 %
    confidence if such come singly. None where one did, or for a figure of all activations together.
    """
    seen: int
    """How much was seen, in nanoseconds or as a number."""
    task: str
    """The task it is of."""


@dataclass(kw_only=True)
class DelayCost:
    """The cost of a constant delay."""

    cost: float | None = None
    """The loop with it."""
    delay_ns: int
    """From sampling to the output."""


@dataclass(kw_only=True)
class DelayMargin:
    """The constant delays from sampling to actuation that a loop stands.

    `never`: It is unstable without any.

    `up-to`: It is stable with every delay from zero to this, in ns.

    `always`: It is stable with any.
    """

    stable: Literal["never", "up-to", "always"]
    ns: int | None = None


@dataclass(kw_only=True)
class Dependence:
    """Whether latencies depend on those before."""

    autocorrelation: list[float]
    """Autocorrelation at lags 0, 1, 2, ... activations."""
    found: bool
    """Whether they depend, at `LEVEL`."""
    ljung_box: LjungBox | None = None
    """Their test for independence."""


@dataclass(kw_only=True)
class Difference:
    """How a figure of one run differs from that of the first."""

    difference: float
    """Its value here minus its value in the first run: below 0 is better here."""
    interval: tuple[float, float] | None = None
    """The interval of the difference; all of one comparison hold at once with 95 %."""
    ratio: float | None = None
    """Its value here over its value in the first run."""
    real: bool
    """Whether the interval excludes 0; of the maximum, whether `Maxima` says so."""
    refusal: Refusal2 | None = None
    """Why there is none."""
    statistic: Statistic
    """Which figure."""


@dataclass(kw_only=True)
class Differing:
    """What differs between the conditions of the first run and another's."""

    conditions: list[Mismatch]
    """What differs, the gravest first."""
    first: str
    """What the first run is called."""
    other: str
    """What the other is called."""


@dataclass(kw_only=True)
class Drive:
    """The shortest times a drive needs on its inputs."""

    direction_hold_ns: int
    """Direction stays unchanged after a step for at least this."""
    direction_setup_ns: int
    """Direction is stable before a step for at least this."""
    name: str
    """Maker and type."""
    source: str
    """Where the figures come from."""
    step_space_ns: int
    """The step pulse stays inactive for at least this."""
    step_time_ns: int
    """The step pulse stays active for at least this."""


@dataclass(kw_only=True)
class Estimate:
    """A figure of one run with its interval."""

    interval: tuple[float, float] | None = None
    """The interval that holds the true figure of runs like this one, with 95 %."""
    refusal: Refusal2 | None = None
    """Why there is none."""
    statistic: Statistic
    """Which figure."""
    value: float
    """Its value, in ns (a share for `Statistic::MissedShare`)."""


@dataclass(kw_only=True)
class Evaluation:
    """What the timing costs. All costs are means of the plant's cost rate; infinite where the loop is not mean-square
    stable.
    """

    along: AlongTrace
    """The run itself, from event to event."""
    along_interval: Interval | None = None
    """Where the mean cost of runs like this one lies, by the run itself."""
    clustered: Stationary
    """The run's cycles with their memory, as far as the run shows one."""
    cost_interval: Interval | None = None
    """Where the cost with memory lies; None where the run is too short to say."""
    ideal: Stationary
    """Every activation punctual, with no work to do."""
    independent: Stationary
    """The run's cycles in random order."""
    jitter: Stationary
    """The run's cycles that are in time, in random order."""
    mean_delay: Stationary
    """Every activation late by the mean wait and working the mean execution time."""
    memory: Memory2
    """How far what comes depends on what came."""
    radius_interval: Interval | None = None
    """Where its radius per period lies."""
    resolution_ns: int
    """Times were told apart this finely for the stationary costs."""
    timing: MeanTiming
    """The timing in short."""


@dataclass(kw_only=True)
class Evidence:
    """How many values there were and how many broke a requirement. The latter is a range where only a histogram is
    known and the limit lies inside a bin.
    """

    broke: int
    """Values that broke the requirement for certain."""
    may_have_broken: int
    """Values that may have broken it."""
    values: int
    """Values in all."""


@dataclass(kw_only=True)
class Extremes:
    """The latencies of a part of a run."""

    max_ns: int
    """The largest."""
    min_ns: int
    """The smallest."""
    missed: int
    """Due times missed."""


@dataclass(kw_only=True)
class Facts:
    """Distribution-free facts of a run. They need only that the time after the run is like the run."""

    count: int
    """Activations that ran."""
    expected_exceedances: float
    """Expected number of activations within the horizon that exceed it: N / (n + 1)."""
    horizon_ns: float
    """How far ahead is looked."""
    observed_max_ns: int
    """Largest latency of the run."""
    p_max_holds: float
    """Probability that nothing within the horizon exceeds it: n / (n + N), by symmetry."""
    quantiles: list[QuantileLimit]
    """Upper limits of quantiles."""
    run_ns: float
    """Length of the run."""
    unseen_rate_per_s: float
    """Rate that an event unseen in the run may still have, with 95 % confidence: -ln(0.05) / t."""


@dataclass(kw_only=True)
class Finding:
    """Something about a firmware on its chip that a person has to know.

    `not-simulated`: The firmware uses a part of the chip that is not simulated.

    `analog-read`: The firmware measured an analog voltage, and read 0.

    `stack-overflow`: The stack grew into the variables.

    `outside-memory`: The firmware read or wrote where there is no memory; a write to the processor's registers
    through a pointer (below 0x20), too.

    `restarted`: The firmware went through its beginning again without a reset.

    `watchdog-reset`: The watchdog reset the chip.

    `start-up-assumed`: The oscillator's start-up time after deep sleep is set by fuses, which the firmware does not
    bring.

    `flash-assumed-fast`: Code came from flash behind a cache, and was taken to be in the cache always.

    `clock-differs`: The firmware sets the processor's clock to another frequency than the one that was counted
    with.

    `interrupts-lost`: Interrupts never came: their flag was set again before it was served.

    `asleep-for-ever`: The firmware sleeps for ever: nothing that runs in its sleep mode can wake it.
    """

    at_ns: int | None = None
    """When it first did, since reset."""
    found: Literal["not-simulated", "analog-read", "stack-overflow", "outside-memory", "restarted", "watchdog-reset", "start-up-assumed", "flash-assumed-fast", "clock-differs", "interrupts-lost", "asleep-for-ever"]
    part: Part | None = None
    """Which."""
    place: Place | None = None
    """Where."""
    bytes: int | None = None
    """By how many bytes at most."""
    data: int | None = None
    """The data address."""
    written: bool | None = None
    """Written, else read."""
    times: int | None = None
    """How often."""
    vector: str | None = None
    """The interrupt that has no handler, if that is why."""
    cycles: int | None = None
    """What was taken, in cycles."""
    hz: int | None = None
    """To which, in Hz; None where it is that of an oscillator nobody knows exactly."""
    lost: int | None = None
    """How many."""
    mode: str | None = None
    """The sleep mode."""


@dataclass(kw_only=True)
class FirmwareReport:
    """What a firmware did on its chip, besides its activations."""

    asleep_cycles: int
    """Cycles of them asleep."""
    clock_hz: int
    """Its clock."""
    cycles: int
    """Cycles simulated."""
    interrupts: list[Interrupts2]
    """Interrupts, by vector."""
    mcu: str
    """The chip."""
    off: InterruptsOff | None = None
    """The longest stretch with interrupts off; None if they never were, once they had been on."""
    sent: str | None = None
    """What it sent over its serial ports."""
    size: Size
    """What the firmware takes of its memories."""
    stack: StackDepth | None = None
    """How deep the stack got; None if none was used."""


@dataclass(kw_only=True)
class FittedLines:
    """Start times against the number of the activation, as lines: the rate between two clocks and what is left."""

    least_squares: LeastSquares
    """By least squares."""
    lower_envelope: Line2
    """Below all values: residuals are latencies above the best case."""
    nist_jitter_ns: float
    """Largest minus smallest residual of least squares: what NIST's paper calls jitter."""
    theil_sen: Line2
    """By Theil and Sen: wild values do not move it."""


@dataclass(kw_only=True)
class FollowedReference:
    """One reference followed with ideal and with recorded timing."""

    apart: float | None = None
    """Largest distance of the two from each other, as a share of the reference's size."""
    ideal: Tracking
    """Figures with ideal timing."""
    ideal_points: list[Point]
    """The response with ideal timing."""
    recorded: Tracking
    """Figures with the recorded timing."""
    recorded_points: list[Point]
    """The response with the recorded timing, at the same times."""
    reference: str
    """The reference."""


@dataclass(kw_only=True)
class Footing:
    """What limits of a share rest on.

    `bursts`: On how the breaches come in the run.

    `singly`: On nothing but their number: the limits hold if they come singly. The run has none or too few of them
    to say how many come together, or does not tell their order.

    `at-most`: On what the user knows: no more than so many come together.
    """

    effective: float | None = None
    """As many independent ones say as much."""
    id: Literal["bursts", "singly", "at-most"]
    together: int | None = None
    """How many."""


@dataclass(kw_only=True)
class Frequency:
    """How the frequency of a CPU is chosen."""

    current_hz: int | None = None
    """What it was when the facts were read (left out where reading would take milliseconds)."""
    driver: str | None = None
    """The driver, such as `intel_pstate`."""
    governor: str | None = None
    """The governor, such as `performance`."""
    hardware_max_hz: int | None = None
    """The highest the hardware has."""
    hardware_min_hz: int | None = None
    """The lowest the hardware has."""
    max_hz: int | None = None
    """The highest it may choose."""
    min_hz: int | None = None
    """The lowest it may choose."""
    preference: str | None = None
    """What the hardware was told to prefer, such as `balance_performance`."""


@dataclass(kw_only=True)
class Gains:
    """A controller's numbers.

    `pid`: u = K (e + h/Ti sum e + Td (e - e_before)/h) for each loop, with the error e = reference - output and the
    period h.

    `state-space`: At each sample u = C xc + D y + D_r r, then xc := A xc + B y + B_r r; y are the outputs, or the
    plant's states, r the reference.
    """

    kind: Literal["pid", "state-space"]
    loops: list[PidGains] | None = None
    """Each loop."""
    period_s: float
    """The period h."""
    a: list[list[float]] | None = None
    """States x states."""
    b: list[list[float]] | None = None
    """States x y."""
    b_reference: list[list[float]] | None = None
    """States x references."""
    c: list[list[float]] | None = None
    """Inputs x states."""
    d: list[list[float]] | None = None
    """Inputs x y."""
    d_reference: list[list[float]] | None = None
    """Inputs x references."""
    reads_states: bool | None = None
    """Whether y are the plant's states, not its outputs."""


@dataclass(kw_only=True)
class Gate:
    """One condition and its outcome.

    `size`: There are enough exceedances that are independent of each other. Statistic: their number.

    `dispersion`: They spread evenly over the run. Statistic: chi-squared of their counts in equal parts of it.

    `cluster-sizes`: Clusters of exceedances are of one kind. Statistic: the size of the largest.

    `goodness-of-fit`: The tail has the shape that is fitted to it. Statistic: Anderson and Darling's.

    `shape`: The tail is not so heavy that a bound would mean nothing. Statistic: its shape xi.

    `top-cluster`: No group of the largest latencies stands apart. Statistic: the largest spacing over the median
    one.

    `halves`: Both halves of the run have as many of the largest latencies. Statistic: the difference in standard
    deviations.

    `level`: The maxima of equal parts of the run have a constant level. Statistic: KPSS.

    `migrations`: The task stayed on one processor. Statistic: how often it moved.

    `machine`: Nothing happened to the machine that will not come again, or come more. Statistic: the number of
    events.
    """

    clustered: float | None = None
    """The extremal index, where exceedances come in clusters, of which each counts once."""
    id: Literal["size", "dispersion", "cluster-sizes", "goodness-of-fit", "shape", "top-cluster", "halves", "level", "migrations", "machine"]
    latencies: int | None = None
    """How many exceedances."""
    parts: int | None = None
    """In how many parts of the run they were counted."""
    clusters: int | None = None
    """The number of clusters; None where exceedances come each for itself."""
    extremal_index: float | None = None
    """The extremal index."""
    variation: float | None = None
    """Standard deviation over mean of the exceedances, 1 for an exponential tail."""
    first_half: int | None = None
    """How many of them came in the first half."""
    events: list[Caveat] | None = None
    """What happened."""
    critical: float
    """What that must not exceed (`Condition::Size`: not fall below)."""
    passed: bool
    """Whether the run meets it."""
    statistic: float | None = None
    """The number it looks at; None where there is no finite one, which fails."""


@dataclass(kw_only=True)
class Granted:
    """How the thread of a task really ran, read back from the system."""

    cpus: list[int]
    """The processors it was allowed on."""
    memory_locked: bool
    """Whether the process's memory was locked."""
    policy: str
    """The scheduling policy in force."""
    timer_slack_ns: int | None = None
    """The thread's timer slack (matters for the policies other, batch and idle)."""


@dataclass(kw_only=True)
class Head:
    """The answer in three lines."""

    asked: bool
    """Whether that purpose was asked for: only then the exit status goes by the fitness."""
    fitness: Fitness
    """How well the purpose is served that the verdict names."""
    next: str
    """The next command, and what for."""
    number: str
    """The number that decides it."""
    verdict: str
    """The verdict, and for what."""


@dataclass(kw_only=True)
class IdleState:
    """One idle state (C-state) of a CPU."""

    disabled: bool | None = None
    """Whether it is forbidden on this CPU."""
    exit_latency_us: int | None = None
    """The longest time it takes to leave it."""
    name: str = ""
    """Its name, such as `C6`."""
    time_us: int | None = None
    """The time spent in it."""
    usage: int | None = None
    """How often it was entered."""


@dataclass(kw_only=True)
class Interrupt:
    """One interrupt."""

    affinity: str | None = None
    """The CPUs it may go to."""
    counts: dict[str, int] | None = None
    """How often it came, for each CPU it came to."""
    effective: str | None = None
    """The CPU it really goes to."""
    id: str = ""
    """Its number, or the kernel's abbreviation for one of its own, such as `LOC`."""
    name: str = ""
    """The devices, or what the abbreviation means."""


@dataclass(kw_only=True)
class InterruptEntries:
    """What a simulator was charged for entering interrupts: at least what the datasheets say, or nothing."""

    charged: bool
    """Whether the cycles below were charged; simavr alone charges nothing."""
    cycles: int
    """Cycles that each entry takes."""
    cycles_from_sleep: int
    """Cycles that it takes more from sleep."""
    entries: int
    """Interrupts that were entered."""
    from_sleep: int
    """Those of them that woke the processor."""


@dataclass(kw_only=True)
class Interrupts:
    """Interrupts of the machine."""

    default_affinity: str | None = None
    """Where a new interrupt goes."""
    irqbalance_running: bool | None = None
    """Whether `irqbalance` runs, which moves interrupts between CPUs."""
    lines: list[Interrupt] = field(default_factory=list)
    """Every interrupt that has a handler."""


@dataclass(kw_only=True)
class Interrupts2:
    """Interrupts of one vector. Times are cycles of the chip."""

    count: int
    """How often its handler ran to its end."""
    lost: int
    """Interrupts that never came: their flag was set again before it was served."""
    max_cycles: int
    """Longest handler."""
    max_latency_cycles: int
    """Longest such time."""
    min_cycles: int
    """Shortest handler, from entry to return, with what came between."""
    min_latency_cycles: int
    """Shortest time from the flag (with its interrupt enabled) to the handler's first instruction."""
    total_cycles: int
    """All of them together."""
    vector: str
    """The vector's name in the chip's manual."""


@dataclass(kw_only=True)
class InterruptsOff:
    """The longest stretch with interrupts off outside of handlers."""

    at_ns: int
    """When it began, since reset."""
    cycles: int
    """How long."""
    from_: Place = field(metadata={'json': 'from'})
    """Where they were turned off."""
    to: Place
    """Where they were turned on again."""


@dataclass(kw_only=True)
class Interval:
    """Between these two values, with a confidence of 95 %."""

    high: float | None = None
    """The larger one; infinite where the loop may not even be stable."""
    low: float
    """The smaller one."""


@dataclass(kw_only=True)
class Isolated:
    """What isolating CPUs did, and what it could not do."""

    changed: list[Chore] = field(default_factory=list)
    """What was changed besides."""
    cpus: str = ""
    """The CPUs that were isolated."""
    interrupts_moved: int = 0
    """How many interrupts were moved away."""
    left: list[LeftBehind] = field(default_factory=list)
    """What stayed, and why."""
    threads_moved: int = 0
    """How many threads were moved away."""


@dataclass(kw_only=True)
class Isolation:
    """Which CPUs are kept free of what."""

    isolated: str | None = None
    """CPUs without load balancing (`isolcpus=`, isolated cpuset partitions)."""
    nohz_full: str | None = None
    """CPUs without the periodic tick while one task runs (`nohz_full=`)."""
    rcu_nocbs: str | None = None
    """CPUs whose RCU callbacks are run elsewhere (`rcu_nocbs=`, or implied by `nohz_full=`)."""
    workqueue_cpus: str | None = None
    """CPUs that unbound kernel work may run on."""


@dataclass(kw_only=True)
class JitterAt:
    """The jitter margin on top of a constant delay."""

    delay_ns: int
    """The constant delay."""
    jitter_ns: float
    """The loop is stable for every sequence of delays from that to so much more."""


@dataclass(kw_only=True)
class JitterTorque:
    """What a displacement of one step pulse by `jitter_s` changes at a loaded motor, exactly."""

    early_nm: float
    """The pulse comes early: the load angle is larger for that time, and so is the torque."""
    late_nm: float
    """The pulse comes late: the load angle is smaller; negative."""
    linear_nm: float
    """NIST equation 7."""


@dataclass(kw_only=True)
class Judged:
    """What a loop was judged by.

    `run`: A run.

    `execution`: Execution times that were given.

    `constant-delays`: Constant delays, where there is neither.
    """

    by: Literal["run", "execution", "constant-delays"]
    actions: list[ActionCost] | None = None
    """What each overrun action would cost."""
    evaluation: Evaluation | None = None
    """What the timing costs."""
    misses: list[UnderMisses] | None = None
    """What is proved of any sequence with so many misses: those seen, and those asked for."""
    over_delays: list[DelayCost] | None = None
    """The cost over a constant delay."""
    over_periods: list[PeriodCost] | None = None
    """The cost over the period."""
    redesigns: list[Redesign] | None = None
    """Controllers designed anew for this timing, where that was asked for."""
    remedies: list[Remedy2] | None = None
    """What would help."""
    responses: list[FollowedReference] | None = None
    """Responses around the run's worst event."""
    run: JudgedRun | None = None
    """The run."""
    velocity: VelocityError | None = None
    """Velocity noise."""
    verdict: Verdict2 | None = None
    """Whether the loop may be closed on this machine."""
    cost: float | None = None
    """Mean cost per second; infinite when the loop is not mean-square stable."""
    execution: str | None = None
    """The execution times, as they were written."""
    ideal: Stationary | None = None
    """The loop with no work to do."""
    interval_periods: float | None = None
    """Mean length of a step in periods."""
    overrun: str | None = None
    """What happens to a job that is not done in time."""
    radius_per_period: float | None = None
    """By how much the covariance of a disturbance shrinks in each period: the same whatever the steps are. Below one
    if and only if the loop is mean-square stable.
    """
    spectral_radius: float | None = None
    """Spectral radius of the covariance's map over one step of the schedule (a job, or a cycle of them): below one if
    and only if the loop is mean-square stable.
    """
    utilisation: float | None = None
    """Share of its time that the task works if it serves every due time."""
    costs: list[DelayCost] | None = None
    """The cost of each tenth of a period of delay, from none on."""


@dataclass(kw_only=True)
class JudgedFigure:
    """One figure against that of the first."""

    change: float | None = None
    """How much higher it is, as a share of its value in the first: below 0 is better here. None where that value is 0."""
    fitness: Fitness
    """Unfit where more than is tolerated is shown, good where it is excluded."""
    limits: tuple[float, float] | None = None
    """The interval of that: of 95 %, all of one comparison at once. None where there is none, as of a maximum."""
    run: str
    """The run; of two settings the other's runs, with commas between."""
    statistic: Statistic
    """Which figure."""
    task: str
    """The task."""


@dataclass(kw_only=True)
class JudgedRun:
    """A task of a run, as far as an answer about a motor or a loop names it."""

    caveats: list[Caveat]
    """What speaks against the run's figures."""
    executed: int
    """Activations of it that ran."""
    file: str
    """The file."""
    others: list[str] = field(default_factory=list)
    """The run's other tasks, where none was asked for and this one was taken."""
    period_ns: int
    """Its period."""
    task: str
    """The task."""
    unknown: list[Gap] = field(default_factory=list)
    """What the source does not tell of the task."""
    warnings: list[str | Warning]
    """What the run itself warns of."""


@dataclass(kw_only=True)
class Judgement:
    """The outcome of a requirement with the numbers it rests on."""

    evidence: Evidence
    """What it rests on."""
    footing: Footing
    """What the limits rest on."""
    outcome: Outcome
    """The outcome."""
    passes_if_at_most: int | None = None
    """It would pass if it were known that no more than so many breaches come together: where the limits rest on their
    number alone.
    """
    requirement: Requirement
    """What was required."""
    share_limits: tuple[float, float]
    """Limits, each with 95 % confidence, of the share that breaks it."""
    unknown: Gap | None = None
    """What the source does not tell, where that is why nothing is decided."""


@dataclass(kw_only=True)
class Keep:
    """What the run file keeps of the activations.

    `all`: Every activation.

    `spikes`: Per-second histograms, and every activation with a latency of `above_ns` or more with its neighbours.
    """

    mode: Literal["all", "spikes"]
    above_ns: int | None = None
    """The threshold."""


@dataclass(kw_only=True)
class Kernel:
    """The kernel itself."""

    architecture: str | None = None
    """Architecture of the kernel, such as `x86_64` or `aarch64`."""
    command_line: str | None = None
    """The command line it was started with."""
    distribution: str | None = None
    """The distribution, as it names itself for people, such as `Debian GNU/Linux 12 (bookworm)`."""
    distribution_family: str | None = None
    """The distribution and those it is like, as `os-release` has them, such as `ubuntu debian`."""
    options: dict[str, str] | None = None
    """The options of its configuration that matter for timing, without `CONFIG_`; empty where the configuration could
    not be read.
    """
    preemption: Preemption | None = None
    """The preemption model in force."""
    preemption_dynamic: bool | None = None
    """Whether the model can be chosen at start or run time (`PREEMPT_DYNAMIC`)."""
    preemption_switch: bool | None = None
    """Whether it can be chosen while the kernel runs: its switch in debugfs opens. None where this process may not
    look.
    """
    release: str | None = None
    """Release, such as `6.1.0-40-rt-amd64`."""
    tick_hz: int | None = None
    """Ticks a second (`CONFIG_HZ`)."""
    version: str | None = None
    """Version, such as `#1 SMP PREEMPT_RT Debian 6.1.153-1 (2025-09-20)`."""


@dataclass(kw_only=True)
class Between:
    """What a number lies between, as far as its source tells."""

    at_least: int
    """No less than this."""
    at_most: int | None = None
    """No more than this."""


@dataclass(kw_only=True)
class Kpss:
    """Result of the test of Kwiatkowski, Phillips, Schmidt & Shin (J. Econometrics 1992) for a constant level."""

    eta: float
    """eta = sum S_t^2 / (n^2 s^2(lags)), large if the level wanders."""
    lags: int
    """Lags in the variance's Bartlett window."""
    p: float
    """Probability of such an eta or a larger one at a constant level."""


@dataclass(kw_only=True)
class LatencyCluster:
    """One mode of the latency."""

    centre_ns: float
    """Median latency."""
    count: int
    """Activations in it."""
    high_ns: int
    """Largest latency."""
    low_ns: int
    """Smallest latency."""
    sd_ns: float
    """Standard deviation."""
    weight: float
    """Share of the activations, 0 to 1."""


@dataclass(kw_only=True)
class LatencyHolder:
    """A process that limits the idle states through `/dev/cpu_dma_latency`."""

    name: str = ""
    """Its name."""
    pid: int = 0
    """Its process number."""


@dataclass(kw_only=True)
class LeastSquares:
    """A least-squares line with its uncertainty."""

    line: Line2
    """The line."""
    residual: Residual
    """What it leaves."""
    slope_se: float
    """Standard error of the slope, if residuals were independent."""


@dataclass(kw_only=True)
class LeftBehind:
    """What isolation could not move.

    `bound-threads`: Kernel threads that belong to the isolated CPUs.

    `threads`: Threads that the system refused to move.

    `interrupts`: Interrupts that the system refused to move.

    `chore`: A chore that the system refused to move.
    """

    names: list[tuple[str, int]] | None = None
    """Their names, each once, with how many there are."""
    what: Literal["bound-threads", "threads", "interrupts", "chore"]
    chore: Chore | None = None
    """Which."""
    error: str | None = None
    """The system's words."""


@dataclass(kw_only=True)
class Limit:
    """A resource limit.

    `unlimited`: No limit.
    """

    at_most: int = field(metadata={'json': 'at-most'})


@dataclass(kw_only=True)
class Limits:
    """The (soft) resource limits that matter for timing."""

    memlock: Limit | Literal["unlimited"] | None = None
    """The memory that may be locked without the capability, in bytes."""
    nice: Limit | Literal["unlimited"] | None = None
    """The ceiling of the nice value, 20 - nice."""
    rtprio: Limit | Literal["unlimited"] | None = None
    """The highest real-time priority without the capability."""
    rttime: Limit | Literal["unlimited"] | None = None
    """The time a real-time thread may run without waiting, in microseconds."""


@dataclass(kw_only=True)
class Line:
    """A line of a spectrum."""

    amplitude: float
    """Half of its peak-to-peak, in the unit of the series."""
    fundamental: float
    """The period that it is a harmonic of, in steps of the series: its own where it is a fundamental."""
    harmonic: int
    """Which harmonic of that it is, from 1."""
    over_floor: float
    """Power over the noise floor around it."""
    p: float
    """Probability of any such line in the spectrum of noise."""
    period: float
    """Its period in steps of the series."""
    uncertainty: float
    """Uncertainty of the period (half a frequency step)."""


@dataclass(kw_only=True)
class Line2:
    """A line t = intercept + slope k."""

    intercept: float
    """Its value at k = 0."""
    slope: float
    """Its rise from one k to the next."""


@dataclass(kw_only=True)
class LjungBox:
    """Whether the first autocorrelations together are those of independent values."""

    lags: int
    """How many lags are in it."""
    p: float
    """Probability of such a Q or a larger one from independent values (chi-squared with `lags` degrees)."""
    q: float
    """Q = n (n + 2) sum r_j^2 / (n - j)."""


@dataclass(kw_only=True)
class LoadRun:
    """One load as it ran."""

    active_ns: int
    """How long it worked."""
    cpu_time_ns: int
    """Processor time of all its processes."""
    cpus: str
    """The CPUs it was on."""
    done: int
    """What it got done, in its unit."""
    failure: str | None = None
    """What went wrong with it, if anything did."""
    spec: str
    """What was asked for."""
    unit: LoadUnit | None = None
    """The unit; None where only the processor time tells how hard it worked."""
    workers: int
    """Its processes."""


@dataclass(kw_only=True)
class Locked:
    """An activation of each so many that is unlike its neighbours."""

    difference_ns: float
    """By how much the median of these is above that of the ones near them, in ns; below 0 where they are earlier."""
    period: int
    """The period in due times of the task."""
    phase: int
    """The place in it: the first such due time on the task's grid."""
    repetitions: int
    """How many were seen."""
    z: float
    """The difference in standard deviations of its chance."""


@dataclass(kw_only=True)
class LoopDescription:
    """Which loop an answer is about."""

    controller: str
    """The controller: `pd`, `pid`, `state-feedback`, `lqg` or `discrete`."""
    outputs: list[str]
    """Names of its outputs."""
    period_ns: int
    """The period it is designed for."""
    plant: str
    """The plant's name."""


@dataclass(kw_only=True)
class LoopUnderExecution:
    """A loop under given execution times."""

    actions: list[ActionCost]
    """What each overrun action would cost."""
    cost: float | None = None
    """Mean cost per second; infinite when the loop is not mean-square stable."""
    execution: str
    """The execution times, as they were written."""
    ideal: Stationary
    """The loop with no work to do."""
    interval_periods: float
    """Mean length of a step in periods."""
    misses: list[UnderMisses]
    """What is proved of any sequence with so many misses."""
    overrun: str
    """What happens to a job that is not done in time."""
    radius_per_period: float | None = None
    """By how much the covariance of a disturbance shrinks in each period: the same whatever the steps are. Below one
    if and only if the loop is mean-square stable.
    """
    spectral_radius: float | None = None
    """Spectral radius of the covariance's map over one step of the schedule (a job, or a cycle of them): below one if
    and only if the loop is mean-square stable.
    """
    utilisation: float
    """Share of its time that the task works if it serves every due time."""
    verdict: Verdict2
    """Whether such a loop is any good."""


@dataclass(kw_only=True)
class LoopUnderRun:
    """A loop under a run's timing."""

    actions: list[ActionCost]
    """What each overrun action would cost."""
    evaluation: Evaluation
    """What the timing costs."""
    misses: list[UnderMisses]
    """What is proved of any sequence with so many misses: those seen, and those asked for."""
    over_delays: list[DelayCost]
    """The cost over a constant delay."""
    over_periods: list[PeriodCost]
    """The cost over the period."""
    redesigns: list[Redesign] = field(default_factory=list)
    """Controllers designed anew for this timing, where that was asked for."""
    remedies: list[Remedy2]
    """What would help."""
    responses: list[FollowedReference]
    """Responses around the run's worst event."""
    run: JudgedRun
    """The run."""
    velocity: VelocityError
    """Velocity noise."""
    verdict: Verdict2
    """Whether the loop may be closed on this machine."""


@dataclass(kw_only=True)
class MarginUsed:
    """How early a compensated task woke."""

    course: list[tuple[int, int]] = field(default_factory=list)
    """The margin in force at a time of CLOCK_MONOTONIC, in order: one entry for a fixed margin, its course for an
    adaptive one.
    """
    samples: int = 0
    """Latencies of early sleeps that were measured to choose it; 0 if it was given."""


@dataclass(kw_only=True)
class Margins:
    """How much more delay and jitter a loop stands."""

    channels: list[ChannelMargins]
    """Each input's loop."""
    delay: DelayMargin
    """The constant delays from sampling to actuation it stands."""
    jitter_curve: list[JitterAt]
    """Jitter margins over the constant delay, up to the delay margin (Cervin's curve)."""
    jitter_ns: float | None = None
    """Jitter margin without delay, in ns; None where there is none (see `JitterMargin`)."""
    jitter_with_delay_ns: float | None = None
    """Jitter margin on top of `Margins::with_delay_ns`, in ns."""
    with_delay_ns: int
    """Delay from sampling to actuation that the figures with delay are for, in ns."""


@dataclass(kw_only=True)
class Maxima:
    """How the largest latencies of equally long stretches of two runs compare (a precedence test; Epstein, J. Am.
    Stat. Assoc. 1954).
    """

    exceed: tuple[int, int]
    """How many maxima of either run exceed all of the other."""
    larger: Larger | None = None
    """The run whose largest latencies are larger, if that is shown."""
    needed: tuple[int, int]
    """How many it takes."""
    stretch_due_times: int
    """The length of a stretch in due times."""
    stretches: tuple[int, int]
    """Stretches of the first run and of the other."""


@dataclass(kw_only=True)
class MeanTiming:
    """The timing of a run in the figures a loop knows."""

    executed: int
    """Activations that ran."""
    execution_ns: float
    """Mean of end - start."""
    latency_ns: float
    """Mean of start - due."""
    least_response_ns: int
    """Smallest of end - due."""
    longest_missed: int
    """Longest row of such periods."""
    missed: int
    """Periods in which no output came."""
    misses: list[AtMost]
    """The most of them in so many periods in a row."""
    periods: int
    """Periods of the grid."""
    wait_ns: float
    """Mean time from when an activation was due and the task free for it to its start."""
    worst_response_ns: int
    """Largest of end - due."""


@dataclass(kw_only=True)
class Memory:
    """Memory, swap and huge pages."""

    available_bytes: int | None = None
    """What programs could still get without swapping."""
    huge_pages: str | None = None
    """Transparent huge pages: `always`, `madvise` or `never`."""
    huge_pages_defrag: str | None = None
    """What is done on a fault to get one: `always`, `defer`, `defer+madvise`, `madvise` or `never`."""
    swap_total_bytes: int | None = None
    """Swap space there is."""
    swap_used_bytes: int | None = None
    """Swap space in use."""
    swappiness: int | None = None
    """How readily the kernel swaps, 0 to 200."""
    total_bytes: int | None = None
    """All there is."""


@dataclass(kw_only=True)
class Mismatch:
    """A condition that differs between two runs."""

    first: str
    """In the first run."""
    other: str
    """In the other."""
    weight: Weight
    """How much it weighs."""
    what: str
    """What differs, such as `period`."""


@dataclass(kw_only=True)
class Misses:
    """What is to be said of a task's missed due times."""

    bursts: list[Burst]
    """How often how many were missed one after the other, shortest first."""
    due: int
    """Due times in all."""
    executed: int
    """Due times that were served."""
    late: int
    """Activations that started when the next due time had come or passed."""
    longest_run: int
    """The most due times missed one after the other."""
    missed: int
    """Due times that passed unserved."""
    overruns: int
    """Activations that ended after the next due time."""
    p_miss: float | None = None
    """Share of the due times that were missed."""
    p_miss_after_miss: float | None = None
    """Share of those missed that were followed by another miss. Equal to `p_miss` if misses were independent."""
    weakly_hard: list[WeaklyHard]
    """The weakly-hard figures for each of `WINDOWS` that the run is long enough for."""


@dataclass(kw_only=True)
class Motor:
    """A two-phase hybrid or permanent-magnet stepper motor. Figures a data sheet may lack are options; see
    `Motor::completed`.
    """

    current_a: float | None = None
    """Rated current of each phase, both phases on, in A."""
    detent_torque_nm: float | None = None
    """Amplitude of the detent (cogging) torque in N m."""
    frame: int
    """NEMA frame size: 17, 23, 34; 0 when not known."""
    holding_torque_nm: float
    """Holding torque h in N m, both phases at the rated current."""
    inductance_h: float | None = None
    """Inductance of a phase in H."""
    name: str
    """Maker and type."""
    resistance_ohm: float | None = None
    """Resistance of a phase in ohm."""
    rotor_inertia_kg_m2: float | None = None
    """Rotor's moment of inertia in kg m^2."""
    source: str
    """Where the figures come from."""
    step_angle_deg: float
    """Full step in degrees, such as 1.8."""


@dataclass(kw_only=True)
class Mover:
    """What moved a thread off the CPU that it was bound to.

    `isolation`: Another jitterlab, which isolates that CPU for itself.

    `cpu-gone`: The kernel: that CPU is offline, or the process may not use it any more.

    `program`: Another program; or the kernel, which gave the CPU back before the end.
    """

    by: Literal["isolation", "cpu-gone", "program"]
    process: int | None = None
    """Its process."""


@dataclass(kw_only=True, repr=False)
class Outlook(Answer):
    """What is said of the tasks of a file."""

    file: str
    """The file."""
    tasks: list[TaskOutlook]
    """Its tasks."""
    warnings: list[str | Warning]
    """What a reader has to know of the file."""


@dataclass(kw_only=True)
class OverTime:
    """The latency in parts of the run of equal length: every extreme is in one of them."""

    part_due_times: int
    """Due times in a part."""
    parts: list[Extremes | None]
    """The parts, from the first activation on; None where nothing ran."""


@dataclass(kw_only=True)
class Overload:
    """A real-time task that leaves its processor to nobody.

    `never-waits`: It used its processor almost without a break.

    `work-exceeds-period`: One activation takes as long as its period or longer.

    `held-cpu`: It hit the kernel's limit on real-time computing without a wait (RLIMIT_RTTIME).
    """

    kind: Literal["never-waits", "work-exceeds-period", "held-cpu"]
    of_ns: int | None = None
    """In this time."""
    used_ns: int | None = None
    """Processor time it used."""
    period_ns: int | None = None
    """T."""
    work_ns: int | None = None
    """Mean processor time of an activation."""


@dataclass(kw_only=True)
class Patterns:
    """All patterns of a task."""

    change: Change2
    """Slow change."""
    clusters: list[LatencyCluster]
    """Latency modes: one if there is no pattern."""
    dependence: Dependence
    """Whether latencies depend on those before."""
    spectrum: SpectrumSection
    """Periodic parts."""
    spikes: Spikes
    """Spikes."""


@dataclass(kw_only=True)
class Peak:
    """A latency and its place on the task's grid."""

    index: int
    """The number of its due time on the grid."""
    latency_ns: int
    """The latency."""


@dataclass(kw_only=True)
class PeriodCost:
    """The cost for a period."""

    delayed: float | None = None
    """The cost with every activation waiting and working as long as on average on this machine."""
    ideal: float | None = None
    """The cost with every activation punctual."""
    period_ns: int
    """The period; the controller is designed for it."""


@dataclass(kw_only=True)
class PeriodicSpikes:
    """Spikes on a grid."""

    largest: Peak
    """The largest of its spikes."""
    others: int
    """As large ones that are not on the grid."""
    p: float
    """Probability of such a period among spikes without one."""
    period: float
    """The period in due times of the task."""
    phase: float
    """Where on the task's grid its first spike in the run is expected."""
    spikes: int
    """Spikes on it."""
    threshold_ns: int
    """Its spikes are latencies from here on (without what the level does slowly)."""
    ticks: int
    """Grid points from the first to the last spike."""
    uncertainty: float
    """Its uncertainty (twice its standard error)."""


@dataclass(kw_only=True)
class PidGains:
    """A PD or PID loop; also in the terms of LinuxCNC's HAL component pid: P + I/s + D s of the error, and FF0, FF1,
    FF2 of the command and its derivatives.
    """

    d: float
    """Dgain = K Td."""
    derivative_time_s: float
    """Td."""
    feedforward: tuple[float, float, float] | None = None
    """What the plant needs of the command, its speed and its acceleration to follow it: the first terms of 1/G(s);
    None of a plant with several inputs, or one that answers a constant by nothing.
    """
    gain: float
    """K."""
    i: float
    """Igain = K/Ti."""
    integral_time_s: float | None = None
    """Ti; None without an integral."""
    p: float
    """Pgain = K."""


@dataclass(kw_only=True)
class Place:
    """A place in a firmware."""

    address: int
    """The instruction's address in bytes."""
    function: str | None = None
    """The function it belongs to, or the interrupt whose handler it is; None where the firmware holds no names."""
    line: str | None = None
    """File and line, `main.c:17`; None where the firmware holds no debug data."""


@dataclass(kw_only=True)
class Placed:
    """Where the tasks of a run are, and why there."""

    because: list[Because]
    """Why these; empty where nothing speaks for them but that they may be used."""
    cpus: str
    """The CPUs of the tasks."""
    rest: str
    """The CPUs of every thread of jitterlab that is not measured."""


@dataclass(kw_only=True)
class PlannedRun:
    """A run that would support a claim."""

    length_ns: float
    """The time they take."""
    values: int
    """Values it needs."""


@dataclass(kw_only=True)
class Point:
    """One point of a response."""

    inputs: list[float | None]
    """The plant's inputs."""
    outputs: list[float | None]
    """The plant's outputs."""
    reference: float
    """The reference."""
    time_s: float
    """Time since the reference began, in s."""


@dataclass(kw_only=True)
class Power:
    """Power management of the whole machine."""

    dma_latency_holders: list[LatencyHolder] = field(default_factory=list)
    """The processes that hold `/dev/cpu_dma_latency` open (looked for only where the limit is not the default)."""
    dma_latency_us: int | None = None
    """The longest wake-up time that anyone allows, as `/dev/cpu_dma_latency` gives it; None where it could not be
    read. Without a request it is 2 000 000 000 us.
    """
    dma_latency_writable: bool | None = None
    """Whether this process may make requests there."""
    firmware_throttled: int | None = None
    """The Raspberry Pi firmware's word on voltage and throttling (bit 0 under-voltage now, 2 throttled now, 16 under-
    voltage since start, 18 throttled since start).
    """
    idle_driver: str | None = None
    """The driver of the idle states, such as `intel_idle`; `none` where there is none."""
    idle_governor: str | None = None
    """What chooses the idle states, such as `menu`."""
    turbo: bool | None = None
    """Whether the processor may exceed its nominal frequency."""


@dataclass(kw_only=True)
class Prediction:
    """What a run says about the time after it."""

    bound: Bound | None = None
    """The upper bound of the largest latency within the horizon. None if a gate failed."""
    caveats: list[PredictionCaveat]
    """What a reader has to know."""
    facts: Facts
    """What holds whatever the distribution is."""
    gates: list[Gate]
    """The conditions of an extrapolation, with their outcomes."""
    largest_ns: list[int]
    """The largest latencies of the run, the largest first: at most 300."""


@dataclass(kw_only=True)
class PredictionCaveat:
    """What limits a prediction.

    `persistence`: The bound holds if the observed mechanism and load persist.

    `unseen`: What comes this rarely may not have come in the run, and nothing in it can show it.

    `far-horizon`: The horizon is more than `DEFAULT_HORIZON` times the run.
    """

    id: Literal["persistence", "unseen", "far-horizon"]
    every_ns: float | None = None
    """Events that come so often or less often."""
    expected: float | None = None
    """So many such events may come within the horizon."""
    needed_run_ns: float | None = None
    """The length of a run that could look ahead that far."""
    times: float | None = None
    """How many times."""


@dataclass(kw_only=True)
class Process:
    """What this process may do."""

    allowed_cpus: str | None = None
    """The CPUs it may run on."""
    capabilities: int | None = None
    """The effective capabilities, as the kernel's bit set."""
    cgroup_rt_runtime_us: int | None = None
    """Real-time time of its control group in each period (version 1 with `RT_GROUP_SCHED`); 0 forbids real-time
    policies whatever the capabilities.
    """
    cpuset: str | None = None
    """Its control group for CPUs (its cpuset with version 1, its only one with version 2)."""
    cpuset_cpus: str | None = None
    """The CPUs of that group: what `sched_setaffinity` may choose from, isolated ones included."""
    limits: Limits | None = None
    """Its resource limits."""
    user_id: int | None = None
    """The effective user."""


@dataclass(kw_only=True)
class Processor:
    """The processor as a whole."""

    model: str | None = None
    """The model it names itself."""
    properties: list[str] = field(default_factory=list)
    """The properties that matter for timing: `constant_tsc`, `nonstop_tsc`, `tsc_known_freq`, `arat`,
    `tsc_deadline_timer`, `hypervisor`.
    """
    smt: str | None = None
    """Whether simultaneous multithreading is on: `on`, `off`, `forceoff`, `notsupported`."""
    vendor: str | None = None
    """Its maker as CPUID has it, such as `GenuineIntel`; x86 only."""
    vulnerabilities: list[Vulnerability] = field(default_factory=list)
    """The vulnerabilities this processor has, and what is done about each."""


@dataclass(kw_only=True)
class PurposeVerdict:
    """What a run says of one purpose."""

    decided_by: Decision | None = None
    """What decides it, or would if the run were longer."""
    fitness: Fitness
    """How well it is served."""
    period_ns: int
    """The period of its task."""
    purpose: str
    """Its name among `PURPOSES`."""
    sources: list[str]
    """Where its limits are from."""
    untested: Untested | None = None
    """Why that cannot be told, where it cannot."""


@dataclass(kw_only=True)
class QuantileLimit:
    """An upper limit of a quantile with 95 % confidence."""

    if_singly: bool
    """Whether it holds only if latencies above it come singly: the run has none or too few bursts of them to say how
    many come together, or does not tell their order. A requirement of it would not be decided then.
    """
    limit_ns: int | None = None
    """The limit. None if the run is too short for one: see `QuantileLimit::needs`."""
    needs: int
    """Activations a run needs for its maximum to be such a limit."""
    share_above: float
    """The share of activations that exceed the quantile: 0.001 for the 99.9 % quantile."""


@dataclass(kw_only=True)
class QuantileShift:
    """How far one quantile is shifted against the first run."""

    first_ns: float
    """Its value in the first run."""
    interval: tuple[float, float] | None = None
    """The interval of the shift."""
    p: float
    """The quantile, 0 to 1."""
    shift_ns: float
    """Its value here minus that."""


@dataclass(kw_only=True)
class Quantisation:
    """The intervals between steps, and their error against a uniform train."""

    long_share: float
    """Share of intervals one tick longer."""
    max_error_s: float
    """Largest error of a step: it leaves this much late. Errors go from 0 to this."""
    sd_error_s: float
    """Standard deviation of the errors; the base period / sqrt(12) when the rates have no common measure."""
    short_ticks: int
    """Shorter interval in ticks, floor(f_b/f)."""
    too_fast: bool
    """Fewer than one tick for each step: the generator cannot make this rate."""


@dataclass(kw_only=True)
class RealTimeCores:
    """Real-time cores beside Linux."""

    cobalt: str | None = None
    """Version of Xenomai's Cobalt core, if it runs."""
    evl: str | None = None
    """ABI of the EVL core (Xenomai 4), if there is one."""
    evl_state: str | None = None
    """What the EVL core says of its state, such as `running` or `stopped`; None where it does not say."""
    gravity: str | None = None
    """Time by which the core's timer anticipates each wake-up, as it names it."""


@dataclass(kw_only=True)
class RealTimeThread:
    """A thread with a real-time policy."""

    cpu: int | None = None
    """The CPU it ran on last."""
    kernel: bool = False
    """Whether it belongs to the kernel."""
    name: str = ""
    """Its name."""
    pid: int = 0
    """Its process number."""
    policy: str = ""
    """`fifo`, `rr` or `deadline`."""
    priority: int = 0
    """Its priority, 1 to 99; 0 with a deadline."""


@dataclass(kw_only=True)
class RecommendedRate:
    """The step rate to set up."""

    base_period_ns: int
    """The base period for it."""
    jitter_ns: int
    """How late a tick may be, in ns: what StepConf calls Base Period Maximum Jitter."""
    limit: StepLimit
    """What limits it."""
    mode: StepMode
    """How steps are made."""
    pulses_per_s: float
    """Step pulses (microsteps) per second."""
    steps_per_s: float
    """The same in full steps per second."""


@dataclass(kw_only=True)
class Redesign:
    """A controller designed anew."""

    along: float | None = None
    """The cost it would leave along the run itself."""
    along_instead_of: float | None = None
    """The cost along the run itself now."""
    along_recovered: Interval | None = None
    """Where the share lies that it would recover by the run itself."""
    controller: str
    """What it is: `pd`, `pid`, `state-feedback` or `lqg`."""
    cost: float | None = None
    """The cost it would leave, by how jobs follow each other."""
    delay: DelayMargin
    """The longest constant delay it would stand."""
    gains: Gains
    """Its numbers."""
    instead_of: float | None = None
    """The cost now."""
    recovered: Interval | None = None
    """Where the share of the cost lies that it would recover; None where the run is too short to say."""
    redesign: RedesignKind
    """How it was designed."""


@dataclass(kw_only=True)
class RedesignKind:
    """A way to design a controller anew.

    `mean-delay`: The same design, for the mean delay from sampling to the output.

    `distribution`: Linear-quadratic, for the measured intervals and delays as they are spread.

    `retuned`: Gains and times searched for the least cost that keeps the margins.
    """

    delay_ns: int | None = None
    """That delay."""
    kind: Literal["mean-delay", "distribution", "retuned"]


@dataclass(kw_only=True)
class Refusal:
    """Something that was asked for and not given."""

    remedy: str
    """What to do about it, in one line."""
    what: str
    """What was asked for, such as `policy fifo:90 for task servo`."""
    why: str
    """Why it was refused, in the system's words."""


@dataclass(kw_only=True)
class Reliability:
    """How predictions from the windows of a run turned out. Horizons of neighbouring windows overlap: they are not
    independent.
    """

    bounded: int
    """Windows that gave a bound; from the others the extrapolation was refused."""
    held: int
    """Bounds that the following maximum stayed below."""
    held_limits: tuple[float, float] | None = None
    """Limits of the share that holds, with 95 % confidence, were the windows independent (Clopper & Pearson)."""
    horizon_windows: int
    """Length of the horizon in windows."""
    max_held: int
    """Windows whose own maximum was not exceeded: what one gets by taking the largest seen as the worst case."""
    median_ratio: float | None = None
    """Median of bound over the maximum that followed."""
    refused_by: dict[str, int]
    """How many windows each gate refused; one may be refused by several."""
    window_ns: float
    """Length of a window."""
    windows: int
    """Windows whose whole horizon is in the run."""


@dataclass(kw_only=True)
class Remedy2:
    """What something would bring."""

    cost: float | None = None
    """The cost it would leave."""
    instead_of: float | None = None
    """Cost now, for comparison on the same footing."""
    remedy: RemedyKind2
    """What to do."""


@dataclass(kw_only=True)
class RemedyKind2:
    """What would lower a loop's cost.

    `design-for-delay`: Design the controller for the mean delay from sampling to the output.

    `measured-interval`: Compute with the measured interval, not the nominal period.

    `wake-early`: Wake early by this quantile of the latency and poll to the due time.

    `spread-misses`: Let as many jobs overrun, but not in bursts.

    `miss-none`: Let no job overrun.
    """

    delay_ns: int | None = None
    """That delay."""
    kind: Literal["design-for-delay", "measured-interval", "wake-early", "spread-misses", "miss-none"]
    margin_ns: int | None = None
    """The latency there."""
    quantile: float | None = None
    """The quantile, as a share."""


@dataclass(kw_only=True)
class Requirement:
    """At most a share of the values may lie above a limit."""

    limit_breaks: bool
    """Whether a value equal to the limit breaks it (`<`) or not (`<=`)."""
    limit_ns: int
    """The limit (0 for `Required::Missed`)."""
    share: float
    """The share of values that may break it: below this; 0 for none at all."""
    subject: Required
    """What it is about."""
    text: str
    """As it was written."""


@dataclass(kw_only=True)
class Residual:
    """What is left of points after a line was taken out."""

    max: float
    """Largest difference to the line."""
    min: float
    """Smallest difference to the line."""
    sd: float
    """Root of the sum of squares over n - 2: the standard deviation about a least-squares line."""


@dataclass(kw_only=True)
class Returns:
    """How long after its return from the kernel a thread reads a clock if it does nothing before, in nanoseconds: as a
    thread of jitterlab's own did, half of the times registered for restartable sequences (rseq), which takes the
    kernel some more. The same clock stamps the kernel's event of the return and is read.
    """

    lower_ns: int
    """A quarter took less."""
    taken_ns: int
    """Starts count so much after the return of their wait: the mean of the medians of both halves."""
    times: int
    """So many returns."""
    upper_ns: int
    """A quarter took longer."""


@dataclass(kw_only=True)
class Reversal:
    """What a change of direction takes on a base period: whole ticks between the last step and the new direction, and
    between that and the next step.
    """

    broken_by_jitter: bool
    """Two ticks of the run come closer than that: this jitter has to be added to both times."""
    hold_ticks: int
    """Ticks the direction is held after a step, as stepgen rounds them up."""
    setup_ticks: int
    """Ticks the direction is set before the next step."""
    spare_ns: int
    """What those ticks leave above the drive's needs, the smaller of the two, in ns: two ticks may come closer by this
    much.
    """


@dataclass(kw_only=True)
class RotorResponse:
    """What the motor did."""

    curve: list[AngleRange]
    """The load angle over time."""
    lost_at_s: float | None = None
    """When the first cycle was lost for good, in s."""
    lost_steps: int
    """Full steps the rotor ended behind (positive) or ahead of (negative) the command, in whole cycles of four."""
    mean_steps: float
    """Mean load angle in full steps, as long as no step was lost."""
    peak_steps: float
    """Largest magnitude of the load angle in full steps; beyond 2 (half a cycle) the rotor slipped."""
    reserve_nm: float
    """Smallest torque reserve in N m: what the motor could still add at its largest load angle, T (1 - sin(d - l)),
    zero from a quarter cycle on. T is its torque at this speed and l how far its currents lag behind the pulses:
    the load angle of the settled rotor above that of its load, asin((T_L + B w) / T).
    """
    ripple_steps: float
    """Peak-to-peak ripple of the load angle in full steps, over the time in which no step was lost."""
    time_s: float
    """Simulated time in s, the settling included."""


@dataclass(kw_only=True, repr=False)
class RunAnalysis(Answer):
    """What the trace of a run says."""

    file: str
    """The file."""
    run: RunInfo
    """The run's description, with the same tasks."""
    sections: list[AnalysisSection] = field(default_factory=list)
    """The parts of the analysis that were asked for; empty: an overview."""
    tasks: list[TaskAnalysis]
    """Its tasks."""
    verdict: Verdict | None = None
    """Which purposes it shows to be served; None for what says nothing of a machine."""


@dataclass(kw_only=True)
class RunInfo:
    """The whole description of one run."""

    bench: Bench
    """Where activations came from."""
    clock: str
    """Name of the clock all times are of."""
    command: list[str]
    """The command that made it, word by word."""
    count: int | None = None
    """Wanted number of activations of each task, if one was set."""
    duration_ns: int | None = None
    """Wanted length, if one was set."""
    facts_after: SystemFacts | None = None
    """The machine after the last activation."""
    facts_before: SystemFacts | None = None
    """The machine before the first activation."""
    firmware: FirmwareReport | None = None
    """What a firmware did besides its activations, where it was one that ran."""
    format: int
    """`FORMAT_VERSION` of the writer."""
    keep: Keep
    """What was kept."""
    load: list[str] | None = field(default_factory=list)
    """The load that ran beside the tasks, as it was asked for."""
    loads: list[LoadRun] = field(default_factory=list)
    """The same with what each load achieved; known when the run has ended."""
    placement: str | Placed | None = None
    """Where the tasks ran and why there; None where nobody chose."""
    refused: list[Refusal]
    """What was asked for and not given."""
    started: str
    """Beginning, UTC, RFC 3339."""
    stop: StopReason | None = None
    """Why it ended; None while it runs."""
    stop_above_ns: int | None = None
    """Limit on the latency, if one was set."""
    tasks: list[TaskRun]
    """The tasks, in the order of the `task` column."""
    tool: str
    """Name and version of the program that measured."""
    warnings: list[str | Warning]
    """Things a reader of the figures has to know."""


@dataclass(kw_only=True)
class RunWarnings:
    """What a reader has to know of a run."""

    run: str
    """What the run is called."""
    warnings: list[str | Warning]
    """Its warnings."""


@dataclass(kw_only=True)
class Runs:
    """Result of the runs test of Wald & Wolfowitz about the median."""

    p: float
    """Two-sided probability of such a z from independent values."""
    runs: int
    """Runs of values on the same side of the median."""
    z: float
    """Standardised number of runs: below 0 if neighbours are alike, above if they alternate."""


@dataclass(kw_only=True, repr=False)
class RunsCompared(Answer):
    """Runs side by side, task by task."""

    files: list[str]
    """The files, the one that the others are compared with first."""
    tasks: list[TaskCompared]
    """The tasks that all runs have."""
    tolerated: Tolerated | None = None
    """Whether any is worse than the first by more than is tolerated, where that was asked."""
    warnings: list[RunWarnings]
    """What a reader has to know of each run."""


@dataclass(kw_only=True)
class Scheduler:
    """The scheduler's settings."""

    nmi_watchdog: bool | None = None
    """Whether the hard-lockup detector runs (a performance-counter interrupt on every CPU)."""
    numa_balancing: bool | None = None
    """Whether pages and tasks are moved between NUMA nodes automatically."""
    rt_period_us: int | None = None
    """The period of the limit above."""
    rt_runtime_us: int | None = None
    """Time that real-time threads together may use in each period; -1 for all of it."""
    soft_watchdog: bool | None = None
    """Whether the soft-lockup detector runs (a timer on every CPU)."""
    timer_migration: bool | None = None
    """Whether idle CPUs hand their timers to busy ones."""
    watchdog_cpus: str | None = None
    """The CPUs the detectors watch."""


@dataclass(kw_only=True)
class Segment:
    """A stretch of a series between two jumps."""

    from_: int = field(metadata={'json': 'from'})
    """Its first value."""
    level: float
    """Its median, at its middle if it drifts."""
    to: int
    """The value after its last."""


@dataclass(kw_only=True, repr=False)
class ServoResult(Answer):
    """What a loop stands, and what timing does to it."""

    judged: Judged
    """What it was judged by."""
    loop: LoopDescription
    """The loop."""
    margins: Margins
    """How much more delay and jitter it stands."""


@dataclass(kw_only=True)
class Setting2:
    """One setting in a comparison of two."""

    runs: list[str]
    """What its runs are called."""


@dataclass(kw_only=True)
class SettingDifference:
    """How a figure of one setting differs from that of the other."""

    change: float
    """The mean of the other over that of the first (of logarithms), or minus it."""
    first: list[float]
    """Its values in the runs of the first setting, in ns (a share for `Statistic::MissedShare`)."""
    interval: tuple[float, float]
    """Its interval; all of them hold at once with 95 %."""
    other: list[float]
    """Its values in those of the other."""
    real: bool
    """Whether the interval excludes that nothing changed."""
    relative: bool
    """Whether the rest is of ratios (the usual case), not of differences: those where a value is not above 0."""
    spread: float
    """Standard deviation from run to run within a setting: a share of the figure, or in its unit."""
    statistic: Statistic
    """Which figure."""


@dataclass(kw_only=True)
class SettingsCompared:
    """Two settings, several runs each: the run is the unit, and the spread from run to run is what differences are
    held against.
    """

    degrees: int
    """Degrees of freedom of the spread from run to run."""
    differences: list[SettingDifference]
    """The figures."""
    first: Setting2
    """The setting that the other is compared with."""
    in_turns: bool | None = None
    """Whether runs of both were measured in turns, so that a machine that changes meanwhile does not look like a
    setting; None where runs do not say when they began.
    """
    other: Setting2
    """The other."""


@dataclass(kw_only=True)
class Side:
    """A side with its fitness.

    `unstable`: The loop is not stable in the mean square.

    `cost`: What the timing costs, as a share of the cost with ideal timing.

    `delay`: The time from the due time to the output against the delays the loop stands.

    `jitter`: Its variation against what the loop stands in any order.

    `misses`: Periods without an output.

    `event`: How far the worst event takes a step's response from the ideal one.
    """

    by: Literal["unstable", "cost", "delay", "jitter", "misses", "event"]
    radius_per_period: float | None = None
    """Its radius per period."""
    interval: Interval | None = None
    """Where it lies; None where the run is too short to say."""
    loss: float | None = None
    """The loss."""
    margin_ns: int | None = None
    """The longest constant one that the loop stands; None where it stands any."""
    mean_ns: int | None = None
    """The mean."""
    worst_ns: int | None = None
    """The longest there was."""
    jitter_ns: int | None = None
    """Largest minus smallest time from the due time to the output."""
    guarantee: Guarantee | None = None
    """What is proved of a loop that misses no more."""
    seen: AtMost | None = None
    """The most that came how close together."""
    apart: float | None = None
    """As a share of the step."""
    fitness: Fitness
    """How good it is."""


@dataclass(kw_only=True)
class Simulated:
    """One simulation."""

    loses_from_steps_per_s: float | None = None
    """The slowest of the table's speeds at which it lost steps, in full steps per second."""
    policy: Overrun | None = None
    """The overrun policy; None for punctual ticks, which it does not concern."""
    response: RotorResponse
    """What the motor did."""
    ticks: Ticks
    """What is played."""


@dataclass(kw_only=True)
class Simulations:
    """What was simulated."""

    beside: str | None = None
    """Name of the second run, if there is one."""
    of: list[Simulated]
    """Each run under each policy."""
    steps_per_s: float
    """Full steps per second."""


@dataclass(kw_only=True)
class Size:
    """Memory that a firmware takes."""

    flash: int
    """Bytes of flash: code, constants, and the initial values of variables."""
    ram: int
    """Bytes of RAM that are taken from the beginning: variables, without the stack."""


@dataclass(kw_only=True)
class Spectrum:
    """The power spectrum of a series, averaged over segments."""

    power: list[float]
    """Power at frequency j / segment (in cycles per step), j = 1, 2, ...: 1 if all power were spread evenly."""
    segment: int
    """Values in a segment."""
    segments: int
    """Segments averaged."""
    variance: float
    """Variance of the series."""


@dataclass(kw_only=True)
class SpectrumSection:
    """The periodic parts of the latency."""

    found: bool
    """Whether there is any of these."""
    lines: list[Line]
    """The lines that stand out of the noise, those of the strongest period first; periods are in due times."""
    locked: list[Locked]
    """Activations of each so many that are unlike their neighbours, without those that spikes have already."""
    slow_lines: list[Line]
    """Lines of the means of equal parts of a run too long to be transformed whole; periods are in due times, too."""
    spectrum: Spectrum | None = None
    """The spectrum activation by activation, for drawing."""


@dataclass(kw_only=True)
class SpeedRow:
    """One line of the table over speeds."""

    beat: Beat
    """The pattern the base period makes, against the rotor's resonance."""
    exact_share: float | None = None
    """Exact share of the torque left after the load; infinite where none is left."""
    jitter: JitterTorque | None = None
    """The torque of the jitter; None where the motor cannot carry the load."""
    linear_share: float
    """NIST's share of half the holding torque."""
    quantisation: Quantisation
    """What the base period alone does to the pulses."""
    quantisation_share: float | None = None
    """NIST's share for the quantisation error alone."""
    step_loss_s: float | None = None
    """Lost time that costs steps here, in s; None where the motor cannot carry the load."""
    steps_per_s: float
    """Full steps per second."""
    torque_nm: float
    """Torque the motor has at this speed (ideal upper bound), in N m."""


@dataclass(kw_only=True)
class Spikes:
    """The largest latencies and how they come."""

    bursts: Bursts | None = None
    """Bursts of them."""
    found: bool
    """Whether they have a period or come in bursts."""
    largest: list[Peak]
    """The largest, with their due times' numbers."""
    periodic: list[PeriodicSpikes]
    """Periods among them, the surest first."""


@dataclass(kw_only=True)
class StackDepth:
    """How deep the stack got."""

    deepest: int
    """Most bytes in use at once."""
    room: int | None = None
    """Bytes it could have before it meets the variables; None where the firmware does not tell."""


@dataclass(kw_only=True)
class Stationary:
    """The loop after a long time."""

    cost: float | None = None
    """Mean cost per second; infinite when the loop is not mean-square stable."""
    interval_periods: float
    """Mean length of a step in periods."""
    radius_per_period: float | None = None
    """By how much the covariance of a disturbance shrinks in each period: the same whatever the steps are. Below one
    if and only if the loop is mean-square stable.
    """
    spectral_radius: float | None = None
    """Spectral radius of the covariance's map over one step of the schedule (a job, or a cycle of them): below one if
    and only if the loop is mean-square stable.
    """


@dataclass(kw_only=True)
class Statistics:
    """One quantity's values in a few numbers, in nanoseconds.

    A percentile is unknown where there are too few values to have one: the share 1 - 1/k needs at least k values,
    or it would be the maximum under another name. Where a source only tells bounds of its largest values it lies
    between them.
    """

    count: int
    """Number of values."""
    max_ns: int | None = None
    """Largest value, exact."""
    mean_ns: float | None = None
    """Arithmetic mean."""
    min_ns: int | None = None
    """Smallest value, exact."""
    percentiles: dict[str, int | Between | None]
    """The percentiles, at most 0.8 % too high, never too low."""
    sd_ns: float | None = None
    """Standard deviation (divisor n)."""


@dataclass(kw_only=True)
class StepConf:
    """What StepConf computes from one jitter figure."""

    max_rate_hz: float
    """Largest step rate in steps (microsteps) per second."""
    min_period_ns: int
    """Shortest base period."""
    mode: StepMode
    """How steps are made. It chooses double step when the step time is at most 5 us."""


@dataclass(kw_only=True)
class StepTiming:
    """The timing of the thread that makes the steps."""

    executed: int
    """Activations that ran and that were missed."""
    jitter_ns: int
    """Release jitter, largest minus smallest latency, in ns: the time a step may be displaced by."""
    missed: int | Between | None
    """Activations that were missed."""
    period_error_ns: int
    """Largest deviation of an interval, in ns: what LinuxCNC calls jitter."""
    period_ns: int | None = None
    """Period of the thread, if it was measured."""
    worst_late_ns: float
    """Largest lateness against the mean, in ns: the worst single event."""


@dataclass(kw_only=True)
class StepperCaveat:
    """What speaks against the figures of an axis.

    `independent-intervals`: Only latencies are known, not their order: intervals are taken as if each latency were
    independent of the last.

    `other-period`: Latencies of one period are taken for those of another.

    `not-simulated`: Nothing was simulated.
    """

    id: Literal["independent-intervals", "other-period", "not-simulated"]
    base_period_ns: int | None = None
    """The step generator's."""
    beside: bool | None = None
    """They are the second run's."""
    period_ns: int | None = None
    """The run's period."""
    why: str | None = None
    """Why."""


@dataclass(kw_only=True, repr=False)
class StepperResult(Answer):
    """What a run's timing, or an assumed jitter, means for an axis."""

    assessment: AxisAssessment
    """What was found."""
    axis: Axis
    """The motor in its machine, with what was assumed of it."""
    caveats: list[StepperCaveat]
    """What speaks against the figures beside the run's own caveats."""
    run: JudgedRun | None = None
    """The run; None for an assumed jitter."""
    simulations: Simulations | None = None
    """The motor driven by the recorded timing."""
    verdict: StepperVerdict
    """Whether software may make the step pulses, and how fast."""


@dataclass(kw_only=True)
class StepperVerdict:
    """Whether software may make the step pulses, and how fast."""

    fitness: Fitness
    """Good: up to the motor's own limit. Limited: up to the recommended rate. Unfit: a tick comes later than
    LinuxCNC's manual holds for good enough, 100 us. Not told: the run's task ran under an ordinary policy, had a
    period that no step generator has, or ran too few times.
    """
    recommended: RecommendedRate
    """The step rate to set up."""


@dataclass(kw_only=True)
class StopReason:
    """Why the measurement ended.

    `duration`: The wanted duration was over.

    `count`: Every task had the wanted number of activations.

    `above`: A latency above the limit.

    `interrupted`: Ctrl-C or a termination signal.

    `overloaded`: A task could not keep up and was stopped for the machine's safety.

    `wait-failed`: A task could not wait any more.

    `closed`: The program that ran the tasks and recorded itself closed the run.

    `crashed`: The measuring process ended without closing the file; it was recovered later.
    """

    reason: Literal["duration", "count", "above", "interrupted", "overloaded", "wait-failed", "closed", "crashed"]
    index: int | None = None
    """The activation's index on its grid."""
    latency_ns: int | None = None
    """Its latency."""
    task: int | None = None
    """Index of the task in `RunInfo::tasks`."""
    overload: Overload | None = None
    """What was seen."""
    why: str | None = None
    """What the system answered, in its words."""


@dataclass(kw_only=True)
class Summary:
    """What one task's timing was like."""

    corrected_latency: Statistics
    """Release latency of each due time: a missed one counts with its own age when the task could first have served it.
    No values where missed due times are unknown.
    """
    cycle_to_cycle: Statistics
    """|T_{k+1} - T_k|: the difference of two successive periods."""
    dropped: int | Between | None
    """Activations that ran but whose records were lost. The figures below rest on the others, save `latency`'s
    extremes, which hold all.
    """
    executed: int | Between | None
    """Activations that ran."""
    execution: Statistics
    """Execution time, end - start."""
    latency: Statistics
    """Release latency, start - due, of each wake-up (raw; comparable with cyclictest)."""
    missed: int | Between | None
    """Due times that passed unserved, those pending at the stop included."""
    overrun: Overrun | Between | None
    """What happened to due times that passed."""
    period_error: Statistics
    """(w_k - w_{k-1}) - T: what LinuxCNC calls jitter."""
    period_ns: int
    """T: the distance of its due times."""
    task: str
    """The task's name."""
    unknown: list[Gap] = field(default_factory=list)
    """What its source does not tell; `period_ns` is an assumption if the period is among it."""


@dataclass(kw_only=True)
class Supply:
    """What the drive gives a motor."""

    current_a: float
    """Current of each phase with both phases on, in A; the peak while microstepping is sqrt(2) of it."""
    voltage_v: float
    """Supply voltage in V."""


@dataclass(kw_only=True)
class SystemFacts:
    """Everything about the machine that is known to matter for timing.

    None, and an empty list, mean that the machine did not say: the file is missing (other kernel, other processor)
    or the permission was. Nothing is filled in from experience.
    """

    activity: Activity | None = None
    """Counters of the machine as a whole."""
    caches: list[Cache] = field(default_factory=list)
    """Every data or unified cache, and who shares it."""
    clock: Clock | None = None
    """What the kernel keeps time with."""
    cpus: list[Cpu] = field(default_factory=list)
    """Every online CPU, in ascending order."""
    interrupts: Interrupts | None = None
    """Interrupts: counts and where they may go."""
    isolation: Isolation | None = None
    """Which CPUs are kept free of what."""
    kernel: Kernel | None = None
    """The kernel and how it preempts."""
    memory: Memory | None = None
    """Memory, swap and huge pages."""
    power: Power | None = None
    """Power management."""
    process: Process | None = None
    """What this process may do."""
    processor: Processor | None = None
    """The processor as a whole."""
    real_time_cores: RealTimeCores | None = None
    """Real-time cores beside Linux."""
    real_time_threads: list[RealTimeThread] = field(default_factory=list)
    """Threads other than ours with a real-time priority of 50 or more, or a deadline."""
    scheduler: Scheduler | None = None
    """The scheduler's settings."""
    uptime_s: float | None = None
    """Seconds since the machine started."""
    virtualisation: Virtualisation | None = None
    """Whether this is a virtual machine or a container."""


@dataclass(kw_only=True)
class TailFit:
    """The tail fitted to the largest latencies."""

    bound_ns: float
    """The bound it gives."""
    exceedances: int
    """How many of the largest latencies."""
    scale_ns: float
    """Scale of the generalised Pareto distribution fitted by L-moments."""
    shape: float
    """Its shape xi."""
    threshold_ns: float
    """The threshold above which they lie."""


@dataclass(kw_only=True)
class TaskAnalysis:
    """What one task's trace says."""

    between_percentiles: bool | None = None
    """Whether a bin is what lies between two percentiles, and says nothing of how it is distributed there."""
    caveats: list[Caveat]
    """What speaks against them; the gravest first."""
    latency_bins: list[tuple[int, int]]
    """The occupied bins of the latency's histogram, lowest first: the largest value of the bin, in nanoseconds, and
    how many latencies are in it.
    """
    misses: Misses | None = None
    """Missed due times; None where only distributions are known."""
    over_time: OverTime
    """The latency over time."""
    patterns: Patterns
    """The patterns of the latency."""
    summary: Summary
    """The few numbers."""
    time_error: TimeErrors | None = None
    """The standards' figures of time error; None where only distributions are known."""
    transitions: Transitions | None = None
    """How latency modes follow each other; None if there is but one, if only distributions are known, or if it was not
    asked for (it takes a second pass).
    """


@dataclass(kw_only=True)
class TaskCompared:
    """One task of all runs."""

    causes: CausesCompared | None = None
    """What delayed it in each run, where that is known of all of them."""
    comparison: Comparison | None = None
    """The comparison run by run, unless another was asked for."""
    mismatches: list[Differing]
    """How the conditions of each other run differ from the first's."""
    settings: SettingsCompared | None = None
    """The comparison of two settings, where several runs of either were given."""
    task: str
    """Its name in the first run."""
    twente: list[TwenteRun] | None = field(default_factory=list)
    """The comparison that the University of Twente's report makes, where that was asked for."""


@dataclass(kw_only=True)
class TaskOutlook:
    """What is said of one task."""

    claims: list[ClaimPlan]
    """How long to run for each claim that was asked for."""
    prediction: Prediction | None = None
    """How much worse it can get; None where it was not asked for, or nothing was measured."""
    reliability: Reliability | None = None
    """How predictions from windows of the run turned out, where that was asked for."""
    requirements: list[Judgement]
    """The outcome of each requirement that was asked for."""
    task: str
    """The task's name."""


@dataclass(kw_only=True)
class TaskResult:
    """Counters that the task's thread kept itself: they hold even when records were dropped."""

    clock_fit: ClockFit | None = None
    """How well the clock it was read from could be stated in nanoseconds of CLOCK_MONOTONIC; None if it is that clock."""
    clock_moved_ns: int | None = None
    """By how much that clock was moved against CLOCK_MONOTONIC altogether."""
    clock_steps: int | None = None
    """How often the clock it slept on was set while it ran."""
    core: CoreUse | None = None
    """How it fared on a Xenomai core; None on stock Linux."""
    cpu_time_ns: int | None = None
    """Processor time the thread used from its first to its last activation."""
    dropped: int | None = None
    """Records lost because the ring was full; the extremes below hold them all the same."""
    elsewhere: int | None = None
    """Activations that began on another processor than the first one did."""
    executed: int | None = None
    """Activations that ran."""
    first_due_ns: int = 0
    """t_0: the first due time."""
    involuntary_switches: int | None = None
    """Context switches because something else was preferred."""
    last_end_ns: int = 0
    """The end of the last activation (its due time, if it ended before that). Invariant: `executed + missed =
    floor((last_end_ns - first_due_ns - phase_loss_ns) / T) + 1`.
    """
    longest_hole_ns: int | None = None
    """The longest time between two successive readings while polling: a hole that the system or a hypervisor tore into
    the task's processor. 0 without polling.
    """
    major_faults: int | None = None
    """Major page faults of the thread while it was measured."""
    margin: MarginUsed | None = None
    """How early it woke, if it did on purpose."""
    max_latency_ns: int | None = None
    """Largest latency of all."""
    min_latency_ns: int | None = None
    """Smallest latency of all."""
    minor_faults: int | None = None
    """Minor page faults of the thread while it was measured."""
    missed: int | None = None
    """Due times that passed unserved, those pending at the stop included."""
    other_cpu: int | None = None
    """The last of those processors."""
    phase_loss_ns: int = 0
    """Sum of the shifts of the grid (policy re-phase)."""
    polled_ns: int | None = None
    """Time spent polling the clock for due times (compensation, and the method spin)."""
    voluntary_switches: int | None = None
    """Context switches because it waited."""


@dataclass(kw_only=True)
class TaskRun:
    """One task of a run."""

    granted: Granted | None = None
    """How it really ran; None if its thread never came up."""
    result: TaskResult | None = None
    """Its counters; None when the run was not closed properly."""
    spec: TaskSpec
    """What was asked for (with the choices jitterlab made filled in)."""
    unknown: list[Gap] = field(default_factory=list)
    """What its source does not tell: where `spec` and `result` say something of that, it is an assumption."""
    watched: Watched | None = None
    """Who it is, where it is a thread of another program that was watched."""


@dataclass(kw_only=True)
class TaskSpec:
    """One periodic task as it was asked for."""

    clock: SleepClock = "monotonic"
    """The clock it sleeps on."""
    compensate: str = "none"
    """How the jitter of its wake-up is compensated."""
    cpu: int | None = None
    """The processor it is bound to; None lets jitterlab choose."""
    name: str
    """Its name, unique in a run."""
    offset_ns: int = 0
    """Shift of its grid against the run's common beginning, 0 or more."""
    overrun: Overrun | None = None
    """What happens to due times that passed."""
    period_ns: int | None = None
    """T: the distance of its due times, above 0."""
    policy: str | None = None
    """How the kernel schedules it; None lets jitterlab choose (FIFO)."""
    pulse: str | None = None
    """The pin that each activation moves."""
    read: ReadClock = "monotonic"
    """The clock its start and end are read from."""
    wake: WakeMethod = "nanosleep"
    """How it waits."""
    work: str = "none"
    """What it does at each activation."""


@dataclass(kw_only=True)
class Threshold:
    """The speed at which jitter costs a share of the available torque. Full steps per second."""

    exact_steps_per_s: float | None = None
    """By the exact torque at the load, out of what the motor has left at that speed."""
    linear_steps_per_s: float | None = None
    """By NIST's linear formula, with half the holding torque available."""
    share: float
    """The share; 1 is all of it."""


@dataclass(kw_only=True)
class TimeErrorPoint:
    """The time error over one observation time."""

    adev: float
    """Overlapping Allan deviation of the rate."""
    mdev: float
    """Modified Allan deviation of the rate."""
    mtie_ns: float
    """Maximum time interval error."""
    periods: int
    """Observation time in periods."""
    tau_ns: float
    """Observation time."""
    tdev_ns: float
    """Time deviation."""


@dataclass(kw_only=True)
class TimeErrors:
    """Time error (TIE): the latency as a series, over observation times of 1, 2, 4, ... periods."""

    activations: int
    """Activations, without a missed one among them, that the figures are of: the longest such stretch of those that
    were kept whole.
    """
    lines: FittedLines | None = None
    """Lines through the stretch. Only where starts were read from another clock than due times are of: on one clock
    the rate is known, and a fitted line would hide the mean latency.
    """
    points: list[TimeErrorPoint]
    """MTIE, TDEV, ADEV and MDEV by observation time."""


@dataclass(kw_only=True)
class TimingRisk:
    """How often a generator with a base period breaks a drive's step timing.

    Two successive ticks come T + e apart, where e is the run's period error; the drive's step time or space is
    broken when that is too short. The run's errors are taken as they were: the figures hold for its load, and
    assume that latency does not depend on the period.
    """

    at_most_per_hour: float
    """95 % upper confidence limit of that: what the run's length can support. Never zero."""
    base_period_ns: int
    """The base period T."""
    expected_per_hour: float
    """Expected violations in an hour of stepping at the largest rate, from what was seen."""
    of: int
    """Intervals of the run."""
    seen: float
    """Intervals of the run that would have been too short (a fraction when only latencies are known)."""


@dataclass(kw_only=True)
class Tolerated:
    """Whether any figure is worse than that of the first run, or setting, by more than is tolerated."""

    figures: list[JudgedFigure]
    """Every figure that both are long enough for; the worst first."""
    fitness: Fitness
    """Unfit where a figure is shown to be higher by more, good where that is excluded for all of them. Where it is for
    some only: limited, unless one of the others was higher by more as seen; then it cannot be told.
    """
    tolerance: float
    """The share by which a figure may be higher than in the first."""


@dataclass(kw_only=True)
class Traced:
    """A latency of which a tool traced what was in its way."""

    cpu: int | None = None
    """The processor, where that is told."""
    irq_latency_ns: int | None = None
    """Latency of the interrupt before it."""
    latency_ns: int
    """Latency of the thread."""
    parts: list[TracedPart]
    """What it consists of, in the order of time."""


@dataclass(kw_only=True)
class TracedPart:
    """A part of a traced latency."""

    by: list[str]
    """The threads and interrupts that it was, with their numbers, where they are named."""
    name: str
    """In the tool's words, such as `IRQ handler delay`."""
    ns: int
    """How long."""


@dataclass(kw_only=True)
class Tracking:
    """How two responses to one reference differ."""

    max_error: float | None = None
    """Largest magnitude of it."""
    overshoot: float | None = None
    """Largest output beyond the reference's largest value, as a share of it; 0 for none."""
    rms_error: float | None = None
    """Root mean square of reference - output, over all outputs."""


@dataclass(kw_only=True)
class Transitions:
    """Which cluster follows which, and whether that is more than chance."""

    chi_squared: float | None = None
    """Pearson's chi-squared against independence, over the cells of which at least 5 are expected."""
    counts: list[list[int]]
    """How often the cluster of the column followed that of the row."""
    degrees: int
    """Its degrees of freedom."""
    p: float | None = None
    """Probability of such a chi-squared or a larger one if each activation's cluster were independent of the one
    before.
    """
    probabilities: list[list[float]]
    """The same as shares of each row: the matrix of a Markov chain, as a jump-linear analysis of a loop takes it."""
    strength: float | None = None
    """How strong the dependence is, 0 to 1 (Cramer's V)."""


@dataclass(kw_only=True)
class Trend:
    """A drift of a series."""

    found: bool
    """Whether it drifts, at `LEVEL`."""
    p: float | None = None
    """Two-sided probability of such a slope at a level that does not drift."""
    slope: float
    """Slope from one value to the next (least squares, each level for itself)."""
    uncertainty: float | None = None
    """The slope is known this well: half the width of its interval of 95 %. None where the level wanders too slowly to
    say.
    """


@dataclass(kw_only=True)
class TwenteRun:
    """One run as the report shows it. A loop's duration is the time from one start to the next."""

    count: int
    """Loops."""
    histogram: list[int]
    """Loops by that: entry i counts those from i to i + 1 tenths of a millisecond. Ends at the largest."""
    max_ns: int | None = None
    """Longest loop."""
    mean_ns: float | None = None
    """Mean duration of a loop."""
    mean_period_error_ns: float | None = None
    """By how much the duration misses the period in the mean, whatever the sign: what the report calls jitter."""
    min_ns: int | None = None
    """Shortest loop."""
    name: str
    """What the run is called."""
    sd_ns: float | None = None
    """Its standard deviation."""


@dataclass(kw_only=True)
class UnderMisses:
    """What is proved of a loop under a weakly hard requirement, for any sequence of its jobs as they are given or were
    seen. Times between theirs are not among them.
    """

    guarantee: Guarantee
    """What is proved."""
    lower: float
    """A sequence of the loop's jobs grows like this in each period."""
    misses: int
    """m: the most misses."""
    of: int
    """K: in so many periods in a row."""
    upper: float | None = None
    """None grows faster; None where the requirement allows too many sequences to be gone through."""
    word: list[bool]
    """The sequence that grows most, period by period: whether it is missed."""


@dataclass(kw_only=True)
class Untested:
    """Why a run does not say whether a purpose is served.

    `period`: No task had a period of its kind.

    `policy`: The task ran under an ordinary policy: the machine may do better.

    `length`: Too few activations: as many as `crate::purposes::OPEN_SHARE` of them may break a limit without that
    having shown.

    `clocks`: Due times of another tool and starts are not of one clock, as it seems: how late it was is not known.

    `gap`: The source does not tell what decides it.
    """

    why: Literal["period", "policy", "length", "clocks", "gap"]
    activations: int | None = None
    """So many are needed."""
    millionths: float | None = None
    """By how many millionths starts gain on due times."""
    gap: Gap | None = None
    """What it leaves open."""


@dataclass(kw_only=True)
class VelocityError:
    """Error of a velocity that is computed from positions with the nominal period, as shares of the speed."""

    standard_deviation: float
    """Standard deviation: that of the period error over the period."""
    worst: float
    """Largest magnitude."""


@dataclass(kw_only=True)
class Verdict:
    """What a run says of the purposes its machine may be wanted for."""

    asked: str | None = None
    """The purpose that was asked for; none: all usual ones."""
    fitness: Fitness
    """How well it is served; of several, good or unfit where all are, limited where they differ."""
    purposes: list[PurposeVerdict]
    """Each purpose, from the shortest period to the longest."""


@dataclass(kw_only=True)
class Verdict2:
    """Whether a loop may be closed on a machine."""

    fitness: Fitness
    """The worst of all sides."""
    sides: list[Side]
    """All sides, the one that decides first."""


@dataclass(kw_only=True)
class Virtualisation:
    """Whether Linux runs on the bare machine."""

    container: str | None = None
    """The container this process is in, such as `docker`; None outside of one."""
    hypervisor: str | None = None
    """Its name where known, such as `KVM`, `VMware`, `Xen`, `Hyper-V`."""
    virtual_machine: bool | None = None
    """Whether a hypervisor is under this kernel; None where it could not be told."""


@dataclass(kw_only=True)
class Vulnerability:
    """One processor vulnerability and what the kernel does about it."""

    name: str = ""
    """Its name, such as `spectre_v2`."""
    state: str = ""
    """The kernel's words, such as `Mitigation: PTI` or `Vulnerable`."""


@dataclass(kw_only=True)
class Warning:
    """Something a reader of a run's figures has to know.

    `shared-cpu`: The measured tasks, the recorder and the rest of the system share these CPUs.

    `load-on-measured-cpu`: Loads run on a measured CPU, because there is no other.

    `load-failed`: A load ended although nobody asked it to.

    `isolated`: CPUs were kept free of everything that can be moved.

    `not-restored`: Something that isolation changed could not be put back.

    `events-recorded`: The kernel's events were recorded meanwhile, which takes time from the tasks themselves.

    `events-lost`: Events of the kernel were lost, since they came faster than they could be read.

    `pulsed`: Each activation of a task moved a pin, which took time.

    `no-wait-seen`: Due times of threads that were watched passed without a wait: whether the program left them out
    or made up for them without waiting is in no event.

    `outside-core`: Activations of a task on a Xenomai core ran on Linux's side.

    `left-cpu`: Activations of a task that is bound to one CPU ran on others.

    `parts`: The run was measured in parts with pauses between them.

    `emulated`: The run was measured in a guest of an emulator.

    `turns`: The processors of the emulated machine took turns while its time went on for all of them.

    `kernel`: The kernel that an emulator ran.

    `interrupt-entries`: What a simulated processor was charged for entering interrupts: of run files of earlier
    versions.

    `firmware`: Something about a firmware on its simulated chip.

    `mean-period`: No period was given, so the mean distance of the edges counts as the period: latencies show no
    drift.

    `first-event`: How long the first of a program's events took from when it was asked for. Due times count from
    the first event.

    `recording-ended`: The run file holds only a part of the run; the figures shown while measuring hold all of it.

    `records-lost`: Records of a task are missing in the run file, because the disk was too slow.

    `journal-damaged`: A part of the run's journal could not be read and is missing in its file.

    `not-closed`: The run was not closed: what was read is what its journal holds.

    `still-recording`: The run still goes on: what was read is what it has recorded until now.

    `unit-assumed`: Another tool's output does not say its unit: this one is assumed.

    `threshold-found`: A capture of a voltage does not say what is high: it was found from the smallest and the
    largest.

    `period-assumed`: Another tool's output does not say the period: the tool's usual one is assumed.

    `above-histogram`: Latencies of a task lie above the last bin of its histogram: only their number and bounds are
    known.

    `ends-below-maximum`: The printed distribution ends below the maximum, and how many values it leaves out is not
    known.

    `only-extremes`: Only extremes, and perhaps mean and deviation, are known.

    `only-percentiles`: Only percentiles are known: what lies between two of them counts as the upper one.

    `due-times-assumed`: The tool prints no due times and skips missed ones without counting them: each follows the
    last is assumed.

    `missed-not-counted`: The tool skips missed activations and does not count them.

    `catches-up`: The tool runs missed activations late, back to back.

    `cut`: Values are cut to whole units, so due times are up to one late.

    `no-period`: What the tool measures is not periodic: nothing is due at a time.

    `stages`: Tasks are stages of the same activations, each from the due time on.

    `relative-sleep`: The tool sleeps a relative delay: latencies leave out what its loop itself takes.

    `only-period-errors`: Only what lies between two starts is known: when activations were due, and so their
    latencies, are not.

    `count-unknown`: How many activations ran is not known.

    `largest-of-all-tests`: The figure is the largest of every test that was ever made on the machine, of whatever
    thread.

    `only-largest`: Only the largest latency is known, at which the tool stopped.

    `traced`: What was in the way of a latency, as another tool traced it.

    `phase-unknown`: The file has no due times: they lie on a grid of even distance that begins with the earliest
    activation, so every latency may be larger by the same amount.

    `due-from-first`: A program that recorded itself did not say when its activations were due: they count from the
    first one.

    `due-fitted`: A program that recorded itself did not say when its activations were due: due times lie on a grid
    fitted to its starts, of which the earliest of the first seconds counts as in time.

    `no-grid-found`: A program that recorded itself said neither its due times nor its period, and nothing of it is
    periodic.

    `said`: What the tool itself says.
    """

    about: Literal["shared-cpu", "load-on-measured-cpu", "load-failed", "isolated", "not-restored", "events-recorded", "events-lost", "pulsed", "no-wait-seen", "outside-core", "left-cpu", "parts", "emulated", "turns", "kernel", "interrupt-entries", "firmware", "mean-period", "first-event", "recording-ended", "records-lost", "journal-damaged", "not-closed", "still-recording", "unit-assumed", "threshold-found", "period-assumed", "above-histogram", "ends-below-maximum", "only-extremes", "only-percentiles", "due-times-assumed", "missed-not-counted", "catches-up", "cut", "no-period", "stages", "relative-sleep", "only-period-errors", "count-unknown", "largest-of-all-tests", "only-largest", "traced", "phase-unknown", "due-from-first", "due-fitted", "no-grid-found", "said"]
    cpus: str | int | None = None
    """The CPUs."""
    loads: list[str] | None = None
    """The loads, as they were asked for."""
    after_ns: int | None = None
    """Time since the loads began."""
    load: str | None = None
    """The load, as it was asked for."""
    reason: str | None = None
    """What it, or the system, gave as the reason."""
    changed: list[Chore] | None = None
    """What was changed besides."""
    interrupts_moved: int | None = None
    """How many interrupts were moved away."""
    left: list[LeftBehind] | None = None
    """What stayed, and why."""
    threads_moved: int | None = None
    """How many threads were moved away."""
    what: str | None = None
    """What, and the system's words."""
    event_ns: int | None = None
    """What an event takes, where it was measured."""
    noting_ns: int | None = None
    """What noting takes what a timer interrupt has interrupted, in the middle; in the latency where the processor was
    not idle.
    """
    events: int | None = None
    """How many."""
    edges: int | None = None
    """Edges that were made."""
    least_ns: int | None = None
    """The least time of an edge: from just before the system was asked until it was back."""
    longest_ns: int | None = None
    """The longest."""
    mean_ns: int | None = None
    """The mean."""
    pulse: str | None = None
    """The pin, and where it was moved."""
    refused: int | None = None
    """Edges that the device refused."""
    task: str | None = None
    """The task."""
    tasks: list[str] | None = None
    """The tasks."""
    activations: int | None = None
    """Activations that began outside real-time mode."""
    core: str | None = None
    """The core, `cobalt` or `evl`."""
    last_cause: str | None = None
    """What moved it there last, where the core said so."""
    mode_switches: int | None = None
    """How often the thread was moved to Linux's side."""
    cause: Mover | None = None
    """What moved its thread."""
    cpu: int | None = None
    """Its CPU."""
    parts: int | list[TracedPart] | None = None
    """How many."""
    ns_per_instruction: int | None = None
    """Virtual time of an instruction in nanoseconds; None where the guest's time passed as the host's."""
    turn_ns: int | None = None
    """The longest turn in nanoseconds of the guest's time."""
    name: str | None = None
    """How the user named it."""
    release: str | None = None
    """As `uname -r`."""
    version: str | None = None
    """As `uname -v`."""
    charged: bool | None = None
    """Whether the cycles below were charged; simavr alone charges nothing."""
    cycles: int | None = None
    """Cycles that each entry takes."""
    cycles_from_sleep: int | None = None
    """Cycles that it takes more from sleep."""
    entries: int | None = None
    """Interrupts that were entered."""
    from_sleep: int | None = None
    """Those of them that woke the processor."""
    at_ns: int | None = None
    """When it first did, since reset."""
    found: Literal["not-simulated", "analog-read", "stack-overflow", "outside-memory", "restarted", "watchdog-reset", "start-up-assumed", "flash-assumed-fast", "clock-differs", "interrupts-lost", "asleep-for-ever"] | None = None
    part: Part | None = None
    """Which."""
    place: Place | None = None
    """Where."""
    bytes: int | None = None
    """By how many bytes at most."""
    data: int | None = None
    """The data address."""
    written: bool | None = None
    """Written, else read."""
    times: int | None = None
    """How often."""
    vector: str | None = None
    """The interrupt that has no handler, if that is why."""
    hz: int | None = None
    """To which, in Hz; None where it is that of an oscillator nobody knows exactly."""
    lost: int | None = None
    """How many."""
    mode: str | None = None
    """The sleep mode."""
    period_ns: int | None = None
    """The mean distance."""
    records: int | None = None
    """How many."""
    at: int | None = None
    """Where the part begins in the journal, in bytes."""
    rows: int | None = None
    """Activations in it; None where that is unknown."""
    unit_ns: int | None = None
    """The unit."""
    channel: str | None = None
    """The channel."""
    high_mv: int | None = None
    """Above it is high, in mV."""
    low_mv: int | None = None
    """Below it is low, in mV."""
    count: int | None = None
    """How many."""
    tool: str | None = None
    """The tool."""
    measures: Aperiodic | None = None
    """What it measures."""
    irq_latency_ns: int | None = None
    """Latency of the interrupt before it."""
    latency_ns: int | None = None
    """Latency of the thread."""
    early: int | None = None
    """Activations that began more than half a period before the due time they were taken to serve."""
    with_period: bool | None = None
    """Whether the period was found with the grid, rather than said."""
    within_ns: int | None = None
    """How long those first seconds are."""
    text: str | None = None
    """Its words."""


@dataclass(kw_only=True)
class Watched:
    """A thread of another program whose activations were watched."""

    calls: list[CallCount] = field(default_factory=list)
    """System calls in its activations, waits and those that ask for the time not among them; the most frequent first."""
    due: DueTimes
    """Where its due times come from."""
    moves: int = 0
    """How often it was moved to another processor."""
    process: int
    """The number of its process."""
    program: str
    """Its program."""
    returns: Returns | None = None
    """How long after the return of its wait a start counts; None where that was not measured: the return is the start
    then.
    """
    thread: int
    """Its own number."""
    waits: Waits
    """How it waits."""


@dataclass(kw_only=True)
class WeaklyHard:
    """In every window of `window` due times at most `missed` were missed."""

    missed: int
    """m: the most due times missed in any window."""
    window: int
    """K: the window's length in due times."""


KINDS: dict[str, type[Answer]] = {
    "analysis": RunAnalysis,
    "prediction": Outlook,
    "comparison": RunsCompared,
    "servo": ServoResult,
    "stepper": StepperResult,
}

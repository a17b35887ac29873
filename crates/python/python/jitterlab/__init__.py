"""jitterlab measures how regular periodic real-time tasks are, and says what that means.

    import jitterlab

    run = jitterlab.open("run.parquet")             # or the output of cyclictest, rtla, LinuxCNC, a logic analyser, a CSV
    print(jitterlab.analyze(run))                   # what the program says
    frame = run.to_polars()                         # every activation
    jitterlab.report("run.html", run)               # a page to send

    for activation in jitterlab.loop(0.001, "loop.parquet", duration=10):
        ...                                         # a loop of its own, measured; Probe is for one that exists already

Times are nanoseconds where a name ends in _ns. What is unknown is None, and `Run.unknown` says why.
"""

from ._answer import Answer
from ._figure import Figure
from ._native import Error, Probed
from ._questions import analyze, compare, plot, predict, report, servo, stepper, why
from ._recording import Activation, Figures, Probe, Recording, loop, write
from ._run import Run, RunWarning, open

__all__ = [
    "Activation",
    "Answer",
    "Error",
    "Figure",
    "Figures",
    "Probe",
    "Probed",
    "Recording",
    "Run",
    "RunWarning",
    "analyze",
    "compare",
    "loop",
    "open",
    "plot",
    "predict",
    "report",
    "servo",
    "stepper",
    "why",
    "write",
]

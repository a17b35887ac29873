"""What is done wrong is answered by a sentence, and nothing is lost or invented."""

import os
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import jitterlab
import polars
import pyarrow

PEERS = Path(sys.argv[1])
warnings.simplefilter("ignore")


def refused(says, call, *args, **options):
    try:
        call(*args, **options)
    except jitterlab.Error as error:
        assert says in str(error), f"{says!r} is missing in: {error}"
    else:
        raise AssertionError(f"{call} {args} {options} was not refused")


# Files that are none, or of something else.
refused("nothing.parquet", jitterlab.open, "nothing.parquet")
Path("prose.txt").write_text("Once upon a time")
refused("prose.txt", jitterlab.open, "prose.txt")
Path("cut.parquet").write_bytes(b"PAR1" + b"\0" * 40)
refused("cut.parquet", jitterlab.open, "cut.parquet")
verbose = jitterlab.open(PEERS / "cyclictest-v.txt")
refused("no task", jitterlab.open, verbose.path, task="absent")
refused("is no unit", jitterlab.open, verbose.path, unit="fortnight")
refused("no length of time", jitterlab.open, verbose.path, period=float("nan"))
refused("no length of time", jitterlab.open, verbose.path, period=-1)

# Questions that make no sense.
refused("is no purpose", jitterlab.analyze, verbose, purpose="tea")
refused("time ahead", jitterlab.predict, verbose, horizon=0)
refused("p99", jitterlab.predict, verbose, require=["p99 is fine"])
refused("nothing to compare with", jitterlab.compare, verbose)
refused("is not a figure", jitterlab.plot, verbose, figure="portrait")
refused("is not a quantity", jitterlab.plot, verbose, quantity="colour")
refused("motor", jitterlab.stepper, jitter="20us")
refused("torque", jitterlab.stepper, jitter="20us", torque="1.9 apples")
refused("plant", jitterlab.servo, verbose, plant="no-such-plant")
Path("kept.parquet").write_bytes(b"PAR1 of somebody's measurement PAR1")
refused("kept.parquet", jitterlab.report, "kept.parquet", verbose)

# Warnings travel, and what is unknown is None, null and said.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    histogram = jitterlab.open(PEERS / "cyclictest-h.txt")
assert histogram.warnings and {str(w.message).split(": ", 1)[1] for w in caught} == set(histogram.warnings)
assert all(issubclass(w.category, jitterlab.RunWarning) and w.filename == __file__ for w in caught)
for run in (histogram, verbose):
    analysis = jitterlab.analyze(run)
    for task, summary in zip(run.tasks, (t.summary for t in analysis.tasks)):
        assert "execution" in task.unknown and "execution times" in run.unknown[task.spec.name]
        assert summary.execution.count == 0 and summary.execution.max_ns is None
        if "missed" in task.unknown:
            assert summary.missed is None and task.result.missed is None
refused("histogram", polars.DataFrame, histogram)
assert verbose.to_polars()["end_ns"].null_count() == verbose.rows > 0

# Packages that are not there.
for name, frame in (("polars", verbose.to_polars), ("pandas", verbose.to_pandas), ("pyarrow", verbose.to_pandas)):
    there, sys.modules[name] = sys.modules.get(name), None
    try:
        frame()
        raise AssertionError(name)
    except ModuleNotFoundError as error:
        assert f"pip install {name}" in str(error), error
    finally:
        del sys.modules[name]
        if there is not None:
            sys.modules[name] = there

# Run files of arrays.
due = list(range(0, 100_000_000, 1_000_000))
start = [at + 5_000 for at in due]
assert jitterlab.write("arrays.parquet", due=due, start=start, period="1ms") == 100
refused("exists", jitterlab.write, "arrays.parquet", due=due, start=start)
refused("99 values of start", jitterlab.write, "uneven.parquet", due=due, start=start[1:])
refused("row 100: time goes back", jitterlab.write, "back.parquet", due=due, start=start[:-1] + [0])
refused("hold times", jitterlab.write, "nothing.parquet")
refused("no measurement", jitterlab.write, "empty.parquet", start=[])
for times in ([0.5, 1.5], ["now", "then"], [2**70, 2**71]):
    try:
        jitterlab.write("wrong.parquet", start=times)
        raise AssertionError(times)
    except (TypeError, OverflowError):
        pass
table = pyarrow.table(jitterlab.open("arrays.parquet"))
assert table["start_ns"].to_pylist() == start and table["end_ns"].null_count == 100
summary = jitterlab.analyze("arrays.parquet").tasks[0].summary
assert (summary.latency.min_ns, summary.latency.max_ns, summary.execution.max_ns) == (5_000, 5_000, None)

# A stream that is left early, and one that is read on another thread.
assert polars.DataFrame(verbose).height == verbose.rows
stream = pyarrow.RecordBatchReader.from_stream(verbose)
stream.read_next_batch()
del stream

# Loops and probes.
refused("exists", lambda: next(jitterlab.loop(0.001, "arrays.parquet")))
refused("tea", lambda: next(jitterlab.loop(0.001, wake="tea")))
refused("no length of time", lambda: next(jitterlab.loop(0)))
recording = jitterlab.Recording("two.parquet", "name=a,period=1ms", "name=b,period=1ms")
refused("no task", recording.probe, "c")
probe = recording.probe("a")
refused("has had its loop or probe", recording.probe, "a")
with probe:
    assert recording.figures("b").max_latency_ns is None
probe.close()
refused("is closed", probe.begin)
recording.close()
recording.close()
refused("is closed", recording.figures, "a")
assert jitterlab.open("two.parquet").to_polars().height == 1
with jitterlab.Probe("raised", "1ms", "raised.parquet") as probe:
    try:
        with probe:
            raise ValueError("in the loop")
    except ValueError:
        pass
assert jitterlab.open("raised.parquet").rows == 1
for activation in jitterlab.loop("1ms", "left.parquet", name="left"):
    if activation.index >= 20:
        break
assert os.path.exists("left.parquet") and not os.path.exists("left.parquet.part")
left = jitterlab.analyze("left.parquet").tasks[0].summary
assert left.executed >= 2 and left.latency.min_ns >= 0

# Ctrl-C ends a loop, and what it measured is kept. Other threads run meanwhile.
ticks = 0


def tick():
    global ticks
    for _ in range(20):
        time.sleep(0.005)
        ticks += 1
    os.kill(os.getpid(), signal.SIGINT)


signal.signal(signal.SIGINT, signal.default_int_handler)
thread = threading.Thread(target=tick)
thread.start()
try:
    for activation in jitterlab.loop("2ms", "interrupted.parquet", duration=60):
        pass
    raise AssertionError("Ctrl-C did not end it")
except KeyboardInterrupt:
    pass
thread.join()
del activation
assert ticks == 20 and jitterlab.open("interrupted.parquet").rows >= 1
print("fine")

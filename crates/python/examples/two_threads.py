"""A fast loop of jitterlab's and a slow loop that existed before, on two threads, recorded in one file."""

import sys
import threading
import time

import jitterlab


def slow(recording: jitterlab.Recording) -> None:
    probe = recording.probe("slow")
    for _ in range(50):
        time.sleep(0.01)
        with probe:
            sum(range(1_000))
    probe.close()
    recording.stop()


def main(out: str) -> None:
    with jitterlab.Recording(out, "name=fast,period=2ms", "name=slow,period=10ms,overrun=re-phase") as recording:
        thread = threading.Thread(target=slow, args=(recording,))
        thread.start()
        for activation in recording.loop("fast"):
            pass
        thread.join()
        print(recording.figures("fast"))
    for task in jitterlab.analyze(out).tasks:
        print(task.summary.task, task.summary.latency.count, "activations")


if __name__ == "__main__":
    main(sys.argv[1])

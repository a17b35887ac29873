"""A controller at 200 Hz that holds a simulated mass at 1 m, measured, and what its timing does to a servo."""

import sys

import jitterlab


def main(out: str, seconds: float) -> None:
    position, speed, worst_ns = 0.0, 0.0, 0
    for activation in jitterlab.loop("200Hz", out, name="controller", duration=seconds):
        force = 60.0 * (1.0 - position) - 12.0 * speed
        speed += force * 0.005
        position += speed * 0.005
        worst_ns = max(worst_ns, activation.latency_ns)
    print(f"at {position:.3f} m; began up to {worst_ns / 1e3:.0f} us late")
    loop = jitterlab.servo(out, plant="dc-servo")
    print(loop)
    missed = jitterlab.analyze(out).tasks[0].summary.missed
    print("missed:", "unknown" if missed is None else missed)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))

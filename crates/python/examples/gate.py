"""Ends with 1 where a run is shown to be worse than a baseline by more than a tenth, and with 3 where that cannot be told."""

import sys

import jitterlab


def main(baseline: str, run: str) -> int:
    compared = jitterlab.compare(baseline, run, fail_if_worse=0.1)
    print(compared)
    if compared.tolerated is None:
        return 3
    return {"good": 0, "limited": 0, "unfit": 1, "cannot-tell": 3}[compared.tolerated.fitness]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))

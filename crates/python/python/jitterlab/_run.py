"""Opening runs."""

from __future__ import annotations

import json
import os
import warnings as python_warnings
from collections.abc import Iterable
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _native
from ._figure import Figure

if TYPE_CHECKING:
    import pandas
    import polars

    from .results import RunInfo, SystemFacts, TaskRun

Time = Union[float, str]
"""A length of time: seconds, or text with a unit such as "250us"."""


class RunWarning(UserWarning):
    """Something that has to be known of a run to read its figures."""


class Run:
    """A run: what was measured of periodic tasks. `jitterlab.open` makes it."""

    def __init__(self, native: _native.Run, task: str | None = None) -> None:
        self._native = native
        self._task = task

    @property
    def path(self) -> Path:
        """The file that was opened."""
        return Path(self._native.path)

    @cached_property
    def info(self) -> RunInfo:
        """Its description in short: tasks, clock, load, the machine before and after, what was refused."""
        from ._answer import decode
        from .results import RunInfo

        info: RunInfo = decode(RunInfo, json.loads(self._native.info()))
        return info

    @cached_property
    def description(self) -> dict[str, Any]:
        """Its whole description, as `result.run` has it with --json."""
        description: dict[str, Any] = json.loads(self._native.info())
        return description

    @property
    def tasks(self) -> list[TaskRun]:
        """Its tasks: what was asked for, what was granted, what came out, and what is unknown."""
        return [task for task in self.info.tasks if self._task in (None, task.spec.name)]

    @property
    def facts(self) -> SystemFacts | None:
        """The machine before the first activation; None where the run does not describe it."""
        return self.info.facts_before

    @property
    def warnings(self) -> list[str]:
        """What has to be known of it to read its figures, a sentence each."""
        return self._native.warnings()

    @property
    def unknown(self) -> dict[str, list[str]]:
        """By task, what its source does not tell: where a figure is None, this is why."""
        return dict(self._native.unknown())

    @property
    def rows(self) -> int:
        """How many activations are kept: none where only distributions are known."""
        return self._native.rows(self._task)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The kept activations as a stream of Arrow, for whatever reads that: `polars.DataFrame(run)`,
        `pyarrow.table(run)`. They are read as they are asked for, and not copied on the way.

        Columns: task (its number), index, due_ns, start_ns, end_ns, cpu, missed, flags; what the source does not tell is
        null.
        """
        return self._native.stream(self._task)

    def to_polars(self) -> polars.DataFrame:
        """The kept activations as a frame of polars, which has to be installed."""
        frame: polars.DataFrame = _package("polars").DataFrame(self)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """The kept activations as a frame of pandas; pandas and pyarrow have to be installed."""
        _package("pandas")
        frame: pandas.DataFrame = _package("pyarrow").table(self).to_pandas()
        return frame

    def __repr__(self) -> str:
        names = ", ".join(task.spec.name for task in self.tasks)
        return f"<jitterlab.Run {str(self.path)!r}: {names}; {self.rows} activations>"

    def _repr_html_(self) -> str:
        from html import escape

        try:
            figure = Figure(_native.plot([self._native], "histogram", "latency", self._task)).svg
        except _native.Error as nothing:
            figure = f"<p>{escape(str(nothing))}</p>"
        said = "".join(f"<li>{escape(warning)}</li>" for warning in self.warnings)
        return f"<p>{escape(repr(self))}</p><ul>{said}</ul>{figure}"


def _package(name: str) -> Any:
    """A package that is needed for this alone."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{name} has to be installed for this: pip install {name}", name=name) from error


def open(
    path: str | os.PathLike[str],
    *,
    period: Time | None = None,
    unit: Literal["ns", "us", "ms", "s"] | None = None,
    task: str | None = None,
    columns: Iterable[str] = (),
    channels: Iterable[str] = (),
    edge: Literal["rising", "falling", "both"] | None = None,
    threshold: str | None = None,
    packets: str | None = None,
) -> Run:
    """Opens a run: a run file, the journal of an unfinished one, or the output of another tool (docs/formats/imports.md).

    What has to be known to read its figures is warned of as `RunWarning`, and stays in `Run.warnings`.

    Args:
        path: The file.
        period: Period of another tool's task where its output does not say: seconds, a time ("250us") or a rate ("4kHz").
        unit: Unit of another tool's values where its output does not say.
        task: Only this task.
        columns: What the columns of a table (CSV) hold where its head line does not say, such as "latency=3:us".
        channels: The channels of a capture that are tasks; all that change without it.
        edge: Which edges of a capture begin an activation; rising without it.
        threshold: What is high of a captured voltage, such as "1.5V" or "0.8V..2V".
        packets: Which packets of a capture begin an activation, such as "ethertype:0x88a4" or "udp:27181".

    Raises:
        Error: It cannot be read, is of no known kind, or has no such task.
    """
    native = _native.Run(path, period, unit, list(columns), list(channels), edge, threshold, packets)
    native.rows(task)
    run = Run(native, task)
    for warning in run.warnings:
        python_warnings.warn(f"{native.label}: {warning}", RunWarning, stacklevel=2)
    return run


Source = Union[Run, str, "os.PathLike[str]"]
"""A run, or the name of a file that holds one."""


def opened(source: Source) -> Run:
    return source if isinstance(source, Run) else open(source)

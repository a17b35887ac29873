"""Answers: what all of them can do, and how their fields are made."""

from __future__ import annotations

import json
import types
import typing
from dataclasses import fields, is_dataclass
from functools import cached_property, lru_cache
from typing import Any, Callable, TypeVar

from . import _native
from ._figure import Figure

if typing.TYPE_CHECKING:
    from .results import Head

T = TypeVar("T")


class Answer:
    """An answer of jitterlab: fields to compute with, the words of the program, and figures."""

    _native: _native.Answer

    @cached_property
    def result(self) -> dict[str, Any]:
        """Everything that the program prints as `result` with --json; the answer's fields are its main figures."""
        result: dict[str, Any] = json.loads(self._native.json())["result"]
        return result

    @cached_property
    def head(self) -> Head | None:
        """Verdict, the number that decides, and what to do next; None where nothing is judged."""
        from .results import Head

        head = json.loads(self._native.json()).get("head")
        return None if head is None else decode(Head, head)

    @property
    def run_warnings(self) -> list[str]:
        """What has to be known of the runs it rests on, a sentence each."""
        return self._native.warnings()

    def text(self, *, details: bool = False, columns: int = 80) -> str:
        """What the program prints: the answer, or with `details` everything."""
        return self._native.text("details" if details else "answer", columns)

    def json(self) -> str:
        """The JSON that the program prints with --json (docs/formats/schema.json)."""
        return self._native.json()

    def figures(self) -> list[Figure]:
        """Its figures. Those of a run itself are drawn by `jitterlab.plot`."""
        return [Figure(drawn) for drawn in self._native.figures()]

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from html import escape

        figures = "".join(figure._repr_svg_() for figure in self.figures())
        return f"<pre>{escape(self.text())}</pre>{figures}"


def answer(kind: type[T], native: _native.Answer) -> T:
    """The answer with its fields."""
    made: T = decode(kind, json.loads(native.json())["result"])
    object.__setattr__(made, "_native", native)
    return made


def decode(kind: Any, value: Any) -> Any:
    """A value of this type, from its JSON."""
    return _decoder(kind)(value)


def _as_it_is(value: Any) -> Any:
    return value


@lru_cache(maxsize=None)
def _decoder(kind: Any) -> Callable[[Any], Any]:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if is_dataclass(kind):
        return _of_class(typing.cast(type, kind))
    if origin is list:
        one = _decoder(inner[0])
        return _as_it_is if one is _as_it_is else lambda values: [one(value) for value in values]
    if origin is dict:
        of = _decoder(inner[1])
        return _as_it_is if of is _as_it_is else lambda values: {key: of(value) for key, value in values.items()}
    if origin is tuple:
        each = [_decoder(part) for part in inner]
        return lambda values: tuple(part(value) for part, value in zip(each, values))
    if origin in (typing.Union, types.UnionType):
        made = [_decoder(part) for part in inner if part not in (int, float, str, bool, type(None))]
        made = [part for part in made if part is not _as_it_is]
        # Of the forms a value has, one at most is not as it is in JSON.
        return _if_composed(made[0]) if made else _as_it_is
    return _as_it_is


def _if_composed(decoder: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: decoder(value) if isinstance(value, (dict, list)) else value


def _of_class(kind: type) -> Callable[[Any], Any]:
    hints = typing.get_type_hints(kind)
    parts = [(part.name, part.metadata.get("json", part.name), _decoder(hints[part.name])) for part in fields(kind)]

    def make(value: dict[str, Any]) -> Any:
        if kind.__name__ == "TaskRun":
            _forget_assumed(value)
        return kind(**{name: of(value[key]) for name, key, of in parts if key in value})

    return make


# What a source does not tell, and where an assumption stands for it.
_ASSUMED = {
    "period": [("spec", "period_ns")],
    "grid": [("spec", "period_ns")],
    "overrun": [("spec", "overrun")],
    "count": [("result", "executed")],
    "missed": [("result", "missed")],
    # Nor does another tool say where its activations ran.
    "lost": [("result", "dropped"), ("result", "elsewhere")],
    "settings": [("result", "polled_ns"), ("result", "longest_hole_ns")],
    "latency": [("result", "min_latency_ns"), ("result", "max_latency_ns")],
}


def _forget_assumed(task: dict[str, Any]) -> None:
    """Makes None of what is only assumed of a task: unknown is None."""
    for gap in task.get("unknown", ()):
        for part, name in _ASSUMED.get(gap, ()):
            if (holder := task.get(part)) is not None:
                holder[name] = None

#!/usr/bin/env python3
"""Writes python/jitterlab/results.py: a dataclass for each type of docs/formats/schema.json that the package's answers hold.

With --check nothing is written, and it is an error if that would change anything.
"""

import json
import keyword
import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCHEMA = HERE / "../../docs/formats/schema.json"
TARGET = HERE / "python/jitterlab/results.py"
# The kinds of results that functions of the package give.
KINDS = ("analysis", "prediction", "comparison", "servo", "stepper")
# What stands in these fields is an assumption where the task's source does not tell: the package makes it None.
ASSUMED = {
    ("TaskSpec", "period_ns"), ("TaskSpec", "overrun"),
    *(("TaskResult", name) for name in (
        "executed", "missed", "dropped", "min_latency_ns", "max_latency_ns", "elsewhere", "clock_steps", "clock_moved_ns",
        "polled_ns", "longest_hole_ns",
    )),
}
# A quantity as far as its source tells: one class for the bounds of all.
BETWEEN = "Known2"
HEAD = '''"""What jitterlab's questions are answered with, as dataclasses.

Written by results_from_schema.py from docs/formats/schema.json, which describes the same values as JSON.

The unit of a number is the end of its name: _ns nanoseconds, _s seconds, _nm newton metres, _hz hertz and so on; shares and
probabilities are between 0 and 1. What is unknown is None, never 0: `unknown` of the task beside it says what its source does
not tell. A number that is known between bounds is a value with `at_least` and `at_most`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ._answer import Answer

'''
SCALARS = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}

schema = json.loads(SCHEMA.read_text())
DEFS = schema["$defs"]


DEFS[BETWEEN]["description"] = "What a number lies between, as far as its source tells."


def name_of(reference):
    return reference["$ref"].rsplit("/", 1)[1]


def class_of(name):
    return "Between" if re.fullmatch(r"Known\d*", name) else name


def variants(part):
    return part.get("oneOf") or part.get("anyOf") or []


def objects(part):
    """The forms of a value that are objects, those of several together."""
    each = [v for v in variants(part) if v.get("type") == "object"]
    if part.get("type") == "object" and "properties" in part or "$ref" in part and "properties" in part:
        each = each or [part]
    return each


def merged(part):
    """The fields of all forms: the values each may have, and whether it is in every form."""
    fields = {}

    def add(name, values, required):
        known = fields.setdefault(name, {"values": [], "forms": 0})
        known["values"] += values
        known["forms"] += required

    for form in objects(part):
        for name, value in form.get("properties", {}).items():
            add(name, [value], name in form.get("required", []))
        if "$ref" in form:
            for name, known in merged(DEFS[name_of(form)]).items():
                add(name, known["values"], known["required"])
    for known in fields.values():
        known["required"] = known["forms"] == len(objects(part))
    if variants(part):
        for name, value in part.get("properties", {}).items():
            fields[name] = {"values": [value], "required": name in part.get("required", [])}
    return fields


def types(value):
    """The types of a value, as they are written."""
    if value is True or value == {}:
        return ["Any"]
    if "$ref" in value:
        name = name_of(value)
        target = DEFS[name]
        if objects(target):
            others = [t for v in variants(target) if v.get("type") != "object" for t in types(v)]
            return others + [class_of(name)]
        return [name] if all("const" in v for v in variants(target)) and variants(target) else types(target)
    if "const" in value:
        return [f'Literal["{value["const"]}"]']
    if variants(value):
        return [t for v in variants(value) for t in types(v)]
    kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
    return [t for kind in kinds for t in of_kind(kind, value)]


def of_kind(kind, value):
    if kind == "array":
        if "prefixItems" in value:
            return [f"tuple[{', '.join(union(types(v)) for v in value['prefixItems'])}]"]
        inner = union(types(value["items"]))
        if value.get("minItems") and value.get("minItems") == value.get("maxItems"):
            return [f"tuple[{', '.join([inner] * value['minItems'])}]"]
        return [f"list[{inner}]"]
    if kind == "object":
        inner = value.get("additionalProperties") or next(iter(value.get("patternProperties", {}).values()), {})
        return [f"dict[str, {union(types(inner))}]"]
    return [SCALARS[kind]]


def union(each):
    literals = [t[8:-1] for t in each if t.startswith("Literal[")]
    rest = [t for t in dict.fromkeys(each) if not t.startswith("Literal[") and t != "None"]
    if "float" in rest and "int" in rest:
        rest.remove("int")
    if literals:
        rest.append(f"Literal[{', '.join(dict.fromkeys(literals))}]")
    return " | ".join(rest + ["None"] * ("None" in each)) or "None"


def said(text, indent, closing='"""'):
    """A description as a docstring."""
    text = re.sub(r"\[`([^`]*)`\](\([^)]*\))?", r"`\1`", text).replace("\\", "\\\\")
    text = text.replace("`None`", "None")
    paragraphs = [" ".join(p.split()) for p in text.split("\n\n")]
    lines = []
    for paragraph in paragraphs:
        lines += textwrap.wrap(paragraph, 116 - len(indent)) + [""]
    lines = lines[:-1] or [""]
    whole = ("\n" + indent).join(lines)
    end = "\n" + indent if len(lines) > 1 else ""
    return re.sub(r"\n +\n", "\n\n", f'{indent}"""{whole}{end}{closing}\n')


def forms(part):
    """What stands for what, of values that are one of several."""
    lines = []
    for form in variants(part):
        tags = [v["const"] for v in form.get("properties", {}).values() if "const" in v]
        tag = form.get("const") or next(iter(tags), None)
        if tag and form.get("description"):
            lines.append(f"`{tag}`: {' '.join(form['description'].split())}")
    return "".join(f"\n\n{line}" for line in lines)


def written(name, root):
    part = DEFS[name]
    text = part.get("description", name) + forms(part)
    if not objects(part):
        each = ", ".join(f'"{v["const"]}"' for v in variants(part))
        return f"{name} = Literal[{each}]\n{said(text, '')}\n\n"
    base = "(Answer)" if root else ""
    shown = ", repr=False" if root else ""
    lines = [f"@dataclass(kw_only=True{shown})\nclass {class_of(name)}{base}:\n", said(text, "    "), "\n"]
    for key, known in merged(part).items():
        kind = union([t for value in known["values"] for t in types(value)])
        assumed = (name, key) in ASSUMED
        default = ""
        if not known["required"] or assumed:
            value = next((v["default"] for v in known["values"] if isinstance(v, dict) and "default" in v), None)
            simple = isinstance(value, (int, float, str)) and not variants(part) and not assumed
            if isinstance(value, list) and not variants(part) or kind.startswith("list[") and not variants(part):
                default = "field(default_factory=list)"
            elif simple and not kind.endswith("None"):
                default = json.dumps(value) if not isinstance(value, bool) else str(value)
            else:
                kind += "" if kind.endswith("None") or kind == "Any" else " | None"
                default = "None"
        python = re.sub(r"\W", "_", key)
        python += "_" if keyword.iskeyword(python) else ""
        if python != key:
            given = "" if not default else f"default={default}, "
            default = f"field({given}metadata={{'json': {key!r}}})"
        lines.append(f"    {python}: {kind}{f' = {default}' if default else ''}\n")
        described = next((v["description"] for v in known["values"] if isinstance(v, dict) and "description" in v), None)
        if described:
            lines.append(said(described, "    "))
    if len(lines) == 3:
        lines.append("    pass\n")
    return "".join(lines) + "\n\n"


def reached(names):
    found = []
    while names:
        name = names.pop()
        if name not in found:
            found.append(name)
            names += [n.rsplit("/", 1)[1] for n in re.findall(r'"\$ref": "([^"]*)"', json.dumps(DEFS[name]))]
    return sorted(found)


def main():
    kinds = {v["if"]["properties"]["kind"]["const"]: v["then"]["properties"]["result"] for v in schema["allOf"]}
    roots = {name_of(kinds[kind]): kind for kind in KINDS}
    names = reached([*roots, "RunInfo", "Head"])
    literals = [n for n in names if not objects(DEFS[n]) and variants(DEFS[n]) and all("const" in v for v in variants(DEFS[n]))]
    classes = [n for n in names if objects(DEFS[n]) and (class_of(n) == n or n == BETWEEN)]
    kinds = "".join(f'    "{kind}": {name},\n' for name, kind in roots.items())
    text = HEAD + "".join(written(n, False) for n in literals) + "\n" + "".join(written(n, n in roots) for n in classes)
    text += f"KINDS: dict[str, type[Answer]] = {{\n{kinds}}}\n"
    if "--check" in sys.argv:
        if TARGET.read_text() != text:
            sys.exit("crates/python/python/jitterlab/results.py is not what docs/formats/schema.json says: "
                     "run crates/python/results_from_schema.py")
    else:
        TARGET.write_text(text)


main()

"""The package's figures are those that the JSON Schema describes, and every answer has them."""

import dataclasses
import json
import sys
import warnings
from pathlib import Path

import jitterlab
from jitterlab import results

SCHEMA, PEERS, CAUSES = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]), sys.argv[3]
# The figures of several forms of a loop's judgement are in one class, and the bounds of numbers in another.
SEVERAL = {"Judged": ["Judged", "LoopUnderRun", "LoopUnderExecution"], "Between": ["Known_int64"], "Cost": ["Stationary"], "CostInterval": ["Interval"]}
warnings.simplefilter("ignore")


def described(part):
    """The names of all fields of a part of the schema, whichever form it has."""
    forms = [form for word in ("oneOf", "anyOf", "allOf") for form in part.get(word, ())]
    return set(part.get("properties", ())).union(*map(described, forms))


for name, kind in vars(results).items():
    if dataclasses.is_dataclass(kind):
        there = set().union(*(described(SCHEMA["$defs"][form]) for form in SEVERAL.get(name, [name])))
        fields = {field.metadata.get("json", field.name) for field in dataclasses.fields(kind)}
        assert fields <= there, f"{name}: the schema does not describe {sorted(fields - there)}"


run = jitterlab.open(PEERS / "cyclictest-v.txt")
analysis = jitterlab.analyze(run)
summary = analysis.tasks[0].summary
assert summary.latency.percentiles["p50"] == analysis.result["tasks"][0]["summary"]["latency"]["percentiles"]["p50"]
decided = [purpose.decided_by for purpose in analysis.verdict.purposes if purpose.decided_by]
assert all(decision.seen >= 0 and decision.good < decision.limited for decision in decided)
try:
    summary.executed = 0
    raise AssertionError("an answer was changed")
except dataclasses.FrozenInstanceError:
    pass
outlook = jitterlab.predict(run, require=["max < 1h"]).tasks[0]
assert outlook.requirements[0].outcome == "pass" and outlook.requirements[0].evidence.broke == 0
prediction = jitterlab.predict(run).tasks[0].prediction
assert prediction.facts.count > 0 and {gate.id for gate in prediction.gates if not gate.passed} or prediction.bound
compared = jitterlab.compare(run, run, fail_if_worse=0.5)
assert all(difference.difference == 0 for difference in compared.tasks[0].comparison.against_first[0].differences)
assert compared.tolerated.tolerance == 0.5 and compared.run_warnings == run.warnings * 2
assert jitterlab.stepper(jitter="20us", frame=23, torque="1.9 N m").verdict.recommended.steps_per_s > 0
servo = jitterlab.servo(run, plant="dc-servo")
assert servo.judged.by == "run" and servo.judged.evaluation.ideal.cost > 0 and servo.head.fitness == servo.judged.verdict.fitness
assert jitterlab.servo(period="10ms", plant="dc-servo").judged.evaluation is None
row = jitterlab.why(CAUSES).tasks[0].causes[0]
assert row.cause.class_ and 0 <= row.share <= 1
print("fine")

#!/usr/bin/env python3
"""dashboard.py > jitterlab.dashboard.json: Grafana's dashboard of monitored machines (pip install grafana-foundation-sdk)."""

from grafana_foundation_sdk.builders.dashboard import Dashboard, DatasourceVariable, QueryVariable
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.builders.stat import Panel as Stat
from grafana_foundation_sdk.builders.table import Panel as Table
from grafana_foundation_sdk.builders.timeseries import Panel as Series
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef

SOURCE = DataSourceRef(type_val="prometheus", uid="${source}")
OF = '{machine=~"$machine"}'
PANELS = [
    (Stat, "Served: 1 good, 0.5 usable, 0 not fit", "short", f"min by (machine, purpose) (jitterlab_verdict{OF})", "{{machine}} {{purpose}}"),
    (Series, "Largest latency of the hour", "s", f"jitterlab_max_latency_seconds{OF}", "{{machine}} {{task}}"),
    (Series, "Starts above a limit", "short", f"increase(jitterlab_above_limit_total{OF}[10m])", "{{machine}} {{task}} {{purpose}} {{limit}} s"),
    (Series, "Missed due times", "short", f"increase(jitterlab_missed_total{OF}[10m])", "{{machine}} {{task}}"),
    (Series, "Late starts by cause", "short", f"sum by (machine, class, who) (increase(jitterlab_late_by_cause_total{OF}[10m]))", "{{machine}} {{class}} {{who}}"),
    (Series, "Median latency", "s", f"histogram_quantile(0.5, sum by (machine, task, le) (rate(jitterlab_latency_seconds_bucket{OF}[10m])))", "{{machine}} {{task}}"),
    (Series, "p99 latency, by buckets of 9 %", "s", f"histogram_quantile(0.99, sum by (machine, task, le) (rate(jitterlab_latency_seconds_bucket{OF}[10m])))", "{{machine}} {{task}}"),
    (Series, "p99 of due times, missed ones with their age", "s", f"histogram_quantile(0.99, sum by (machine, task, le) (rate(jitterlab_corrected_latency_seconds_bucket{OF}[10m])))", "{{machine}} {{task}}"),
    (Series, "Activations without a record", "short", f"increase(jitterlab_lost_total{OF}[10m])", "{{machine}} {{task}}"),
    (Stat, "Seconds since the last start", "s", f"time() - jitterlab_last_activation_timestamp_seconds{OF}", "{{machine}} {{task}}"),
    (Table, "Machines", "short", f"jitterlab_info{OF}", "{{machine}}"),
]


def main():
    board = Dashboard("jitterlab").uid("jitterlab").tags(["jitterlab"]).refresh("1m").time("now-24h", "now")
    board = board.with_variable(DatasourceVariable("source").type("prometheus"))
    board = board.with_variable(
        QueryVariable("machine")
        .datasource(SOURCE)
        .query("label_values(jitterlab_info, machine)")
        .multi(True)
        .include_all(True)
        .all_value(".*")
    )
    for kind, title, unit, expression, legend in PANELS:
        query = Dataquery().ref_id("A").expr(expression).legend_format(legend)
        board = board.with_panel(kind().title(title).unit(unit).datasource(SOURCE).with_target(query).span(12).height(7))
    print(JSONEncoder(sort_keys=True, indent=1).encode(board.build()))


main()

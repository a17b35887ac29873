//! The edges of simulated pins as a value change dump (IEEE 1364), which logic analysers' programs show.

use std::io;

use jitterlab_model::edge::LevelChange;
use vcd::{IdCode, TimescaleUnit, Value, Writer};

use super::run::McuPins;

/// Value change dump of the pins of a run from reset to its end, in nanoseconds.
pub fn value_change_dump(run: &McuPins) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    writer.version(&run.info.tool)?;
    writer.timescale(1, TimescaleUnit::NS)?;
    writer.add_module("chip")?;
    let mut signals = Vec::new();
    for pin in &run.pins {
        signals.push((writer.add_wire(1, &pin.pin.to_string())?, &pin.edges));
    }
    writer.upscope()?;
    writer.enddefinitions()?;
    let level = |high: bool| if high { Value::V1 } else { Value::V0 };
    // Before its first edge each was the other way round.
    writer.timestamp(0)?;
    for (signal, edges) in &signals {
        writer.change_scalar(*signal, level(edges.first().is_some_and(|edge| !edge.high)))?;
    }
    let of = |(signal, edges): &(IdCode, &Vec<LevelChange<i64>>)| {
        let signal = *signal;
        edges.iter().map(move |edge| (edge.at, signal, edge.high)).collect::<Vec<_>>()
    };
    let mut changes: Vec<(i64, IdCode, bool)> = signals.iter().flat_map(of).collect();
    changes.sort_by_key(|(at, ..)| *at);
    let mut now = 0;
    for (at, signal, high) in changes {
        if at != now {
            writer.timestamp(at.unsigned_abs())?;
            now = at;
        }
        writer.change_scalar(signal, level(high))?;
    }
    // Who reads it knows for how long nothing changed.
    if let Some(end) = run.info.duration_ns.filter(|end| *end > now) {
        writer.timestamp(end.unsigned_abs())?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use jitterlab_model::Activation;
    use jitterlab_trace::{Hints, Measured, import_bytes};

    use super::super::McuRun;
    use super::*;

    #[test]
    fn what_is_written_is_read_back_to_the_nanosecond() {
        // 7.3728 MHz: no cycle lies on a whole nanosecond, except by rounding.
        let ns = |cycle: i64| (cycle * 1_000_000_000 + 3_686_400) / 7_372_800;
        let cycles: Vec<i64> =
            (0..200).flat_map(|k| [1_000 + k * 7_373 + k % 7, 1_040 + k * 7_373 + k % 5]).collect();
        let edges =
            cycles.iter().enumerate().map(|(n, cycle)| LevelChange { at: ns(*cycle), high: n % 2 == 0 });
        let activations = cycles.chunks(2).map(|c| Activation {
            start_ns: ns(c[0]),
            end_ns: ns(c[1]),
            ..Activation::default()
        });
        let info = jitterlab_model::RunInfo::new(
            jitterlab_model::Bench::Mcu,
            "simulated",
            [jitterlab_model::TaskSpec::default()],
        );
        let run = McuRun {
            info,
            activations: activations.collect(),
            pin: "B5".parse().unwrap(),
            edges: edges.collect(),
        };
        let toggled: Vec<LevelChange<i64>> =
            run.edges.iter().map(|edge| LevelChange { at: edge.at + 40, high: !edge.high }).collect();
        let other = McuRun { pin: "D2".parse().unwrap(), edges: toggled, ..run.clone() };
        let both = McuPins::new(vec![run.clone(), other]).unwrap();
        let import = import_bytes("pins.vcd", &value_change_dump(&both).unwrap(), &Hints::default()).unwrap();
        let names: Vec<&str> = import.info.tasks.iter().map(|task| task.spec.name.as_str()).collect();
        assert_eq!(names, ["B5", "D2"]);
        let one = McuPins::new(vec![run.clone()]).unwrap();
        let import = import_bytes("pin.vcd", &value_change_dump(&one).unwrap(), &Hints::default()).unwrap();
        let [Measured::Rows(rows)] = import.tasks.as_slice() else { panic!("no single task") };
        let times = |rows: &[Activation]| rows.iter().map(|a| (a.start_ns, a.end_ns)).collect::<Vec<_>>();
        assert_eq!(times(rows), times(&run.activations));
        assert_eq!(import.info.tasks[0].spec.name, "B5");
    }
}

//! The edges of a simulated pin as a value change dump (IEEE 1364), which logic analysers' programs show.

use std::io;

use vcd::{TimescaleUnit, Value, Writer};

use super::McuRun;

/// The pin of a run from reset to its last edge, in nanoseconds.
///
/// # Errors
/// None in practice: it is written into memory.
pub fn value_changes(run: &McuRun) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    writer.version(&run.info.tool)?;
    writer.timescale(1, TimescaleUnit::NS)?;
    writer.add_module("chip")?;
    let pin = writer.add_wire(1, &run.pin.to_string())?;
    writer.upscope()?;
    writer.enddefinitions()?;
    let level = |high: bool| if high { Value::V1 } else { Value::V0 };
    // Before its first edge it was the other way round.
    writer.timestamp(0)?;
    writer.change_scalar(pin, level(run.edges.first().is_some_and(|edge| !edge.high)))?;
    for edge in &run.edges {
        writer.timestamp(edge.at.unsigned_abs())?;
        writer.change_scalar(pin, level(edge.high))?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use jitterlab_model::Activation;
    use jitterlab_model::edge::LevelChange;
    use jitterlab_trace::{Hints, Measured, import_bytes};

    use super::*;

    #[test]
    fn what_is_written_is_read_back_to_the_nanosecond() {
        // 7.3728 MHz: no cycle lies on a whole nanosecond but by rounding.
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
        let import = import_bytes("pin.vcd", &value_changes(&run).unwrap(), &Hints::default()).unwrap();
        let [Measured::Rows(rows)] = import.tasks.as_slice() else { panic!("no single task") };
        let times = |rows: &[Activation]| rows.iter().map(|a| (a.start_ns, a.end_ns)).collect::<Vec<_>>();
        assert_eq!(times(rows), times(&run.activations));
        assert_eq!(import.info.tasks[0].spec.name, "B5");
    }
}

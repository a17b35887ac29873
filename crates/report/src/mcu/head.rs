//! The heads of what was measured on a microcontroller with no purpose to judge: what is most exact, and what costs least.

use jitterlab_model::Fitness;
use jitterlab_model::mcu::{AlarmFigures, CostFigures, McuCost, McuSweep, Strategy};

use crate::head::Head;
use crate::words::{count, exact, list, plural};

/// Errors that differ by less, in microseconds, are shown alike.
const ALIKE_US: f64 = 0.005;

/// The largest deviation of a distance of two events from the period, in microseconds.
fn off_us(min_error_us: f64, max_error_us: f64) -> f64 {
    min_error_us.abs().max(max_error_us.abs())
}

/// The head of a sweep: which strategy has the least error and takes fewest cycles at worst, over the cases that were measured
/// under all of them; `None` where nothing was.
pub(crate) fn sweep(sweep: &McuSweep) -> Option<Head> {
    let strategies: Vec<Strategy> = Strategy::ALL
        .into_iter()
        .filter(|strategy| sweep.alarms.iter().any(|of| of.strategy == *strategy))
        .collect();
    let case = |of: &AlarmFigures| (of.prescaler, of.period_us, of.compare_as_paper);
    let shared = |of: &&AlarmFigures| {
        let under = |strategy: &Strategy| {
            sweep.alarms.iter().any(|other| other.strategy == *strategy && case(other) == case(of))
        };
        strategies.iter().all(under)
    };
    let alarms: Vec<&AlarmFigures> = sweep.alarms.iter().filter(shared).collect();
    let recommend = next(&sweep.mcu, sweep.clock_hz, sweep.alarms.first()?.period_us);
    let unranked = |why: String, next| Head {
        fitness: Fitness::CannotTell,
        asked: false,
        verdict: format!("NOT RANKED: {why}."),
        number: "The table below has what was measured.".into(),
        next,
    };
    match strategies.as_slice() {
        [only] => {
            let all = "the same with --strategy periodic,single-shot,anchored".into();
            return Some(unranked(format!("only {only} was measured"), all));
        }
        _ if alarms.is_empty() => {
            return Some(unranked("no case was measured under all strategies".into(), recommend));
        }
        _ => {}
    }
    let worst = |figure: fn(&AlarmFigures) -> f64| -> Vec<(Strategy, f64)> {
        let of = |strategy: Strategy| alarms.iter().filter(move |of| of.strategy == strategy);
        let most = |strategy| of(strategy).map(|of| figure(of)).fold(0.0, f64::max);
        strategies.iter().map(|strategy| (*strategy, most(*strategy))).collect()
    };
    let mean = worst(|of| of.mean_error_us().abs());
    let single = worst(|of| off_us(of.min_error_us, of.max_error_us));
    let cycles = worst(|of| of.cycles_per_event);
    let [exact, near, cheap] = [(&mean, ALIKE_US), (&single, ALIKE_US), (&cycles, 0.5)].map(least);
    let same = exact.len() == 1 && exact == near && near == cheap;
    let each = mean
        .iter()
        .zip(&single)
        .map(|((strategy, mean), (_, single))| format!("{strategy} {mean:.2} and {single:.2} µs"));
    let cases = plural((alarms.len() / strategies.len()) as u64, "case");
    Some(Head {
        fitness: if same { Fitness::Good } else { Fitness::Limited },
        asked: false,
        verdict: format!(
            "LEAST MEAN ERROR at worst of {cases}: {}; least of a single distance: {}; fewest cycles: {}.",
            list(&exact),
            list(&near),
            list(&cheap)
        ),
        number: format!(
            "At worst, in the mean and for a single distance of two events: {}.",
            each.collect::<Vec<_>>().join(", ")
        ),
        next: recommend,
    })
}

/// The strategies with the least of a figure; those that differ by no more than `alike` are equal.
fn least((figures, alike): (&Vec<(Strategy, f64)>, f64)) -> Vec<String> {
    let least = figures.iter().map(|(_, figure)| *figure).fold(f64::INFINITY, f64::min);
    let of = figures.iter().filter(|(_, figure)| *figure <= least + alike);
    of.map(|(strategy, _)| strategy.to_string()).collect()
}

/// The command that judges for one's own periods.
fn next(mcu: &str, clock_hz: u32, period_us: u32) -> String {
    let clock = match clock_hz.is_multiple_of(1_000_000) {
        true => format!("{}MHz", clock_hz / 1_000_000),
        false => format!("{clock_hz}Hz"),
    };
    let period = exact(i64::from(period_us) * 1_000).replace(' ', "");
    format!(
        "jitterlab mcu recommend --mcu {mcu} --clock {clock} --need {period}:TOLERANCE (for your periods)"
    )
}

/// The head of what an alarm costs: which way takes the least flash, the shortest interrupt, and is most exact; `None` where
/// nothing was measured.
pub(crate) fn cost(cost: &McuCost) -> Option<Head> {
    let least = |figure: &dyn Fn(&CostFigures) -> f64, alike: f64| -> Vec<&CostFigures> {
        let least = cost.costs.iter().map(figure).fold(f64::INFINITY, f64::min);
        cost.costs.iter().filter(|of| figure(of) <= least + alike).collect()
    };
    let off = |of: &CostFigures| off_us(of.min_error_us, of.max_error_us);
    let flash = least(&|of| f64::from(of.size.flash), 0.0);
    let cycles = least(&|of| of.longest_interrupt_cycles as f64, 0.0);
    let exact = least(&off, ALIKE_US);
    let names = |of: &[&CostFigures]| match of.len() {
        few @ 1..=2 => list(&of.iter().take(few).map(|of| format!("“{}”", of.name)).collect::<Vec<_>>()),
        many => format!("{many} of {} alike", cost.costs.len()),
    };
    let mut named: Vec<&CostFigures> = Vec::new();
    for of in [&flash, &cycles, &exact] {
        if !of.iter().any(|of| named.iter().any(|known| known.name == of.name)) {
            named.push(*of.first()?);
        }
    }
    let figures = named.iter().map(|of| {
        format!(
            "“{}” takes {} bytes of flash and {} cycles, and {}",
            of.name,
            count(of.size.flash.into()),
            count(of.longest_interrupt_cycles),
            match off(of) {
                us if us < ALIKE_US => "is exact".into(),
                us => format!("is off by up to {us:.2} µs"),
            }
        )
    });
    Some(Head {
        fitness: if named.len() == 1 { Fitness::Good } else { Fitness::Limited },
        asked: false,
        verdict: format!(
            "LEAST FLASH: {}; shortest interrupt: {}; most exact: {}.",
            names(&flash),
            names(&cycles),
            names(&exact)
        ),
        number: format!("{}.", figures.collect::<Vec<_>>().join("; ")),
        next: next(&cost.mcu, cost.clock_hz, cost.period_us),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::mcu::Size;

    /// Of a strategy: how far distances of two events are off in the mean and at most, and how many cycles an event takes.
    fn alarm(strategy: Strategy, prescaler: u16, [mean_us, off_us]: [f64; 2], cycles: f64) -> AlarmFigures {
        AlarmFigures {
            strategy,
            compare_as_paper: false,
            prescaler,
            timer_hz: 115_200.0,
            period_us: 1_000,
            events: 11,
            mean_period_us: 1_000.0 - mean_us,
            min_error_us: -off_us,
            max_error_us: 0.0,
            total_error_counts: -1.0,
            interrupts_per_s: 6.4,
            cycles_per_event: cycles,
            shortest_interrupt_cycles: 65,
            longest_interrupt_cycles: 426,
            asleep_share: 0.9998,
            size: Size { flash: 2_000, ram: 60 },
        }
    }

    fn of(alarms: Vec<AlarmFigures>) -> Option<Head> {
        sweep(&McuSweep { mcu: "atmega128".into(), clock_hz: 7_372_800, alarms })
    }

    #[test]
    fn a_sweep_names_the_most_exact_strategy_and_the_cheapest() {
        let (anchored, single) = (Strategy::Anchored, Strategy::SingleShot);
        let mixed = of(vec![
            alarm(anchored, 64, [0.2, 6.5], 320.0),
            alarm(single, 64, [4.0, 4.0], 300.0),
            alarm(anchored, 256, [0.9, 5.0], 330.0),
            alarm(single, 256, [0.1, 2.0], 310.0),
            // Measured under one strategy alone.
            alarm(anchored, 8, [99.0, 99.0], 9_999.0),
        ])
        .unwrap();
        assert_eq!(
            (mixed.fitness, mixed.verdict.as_str(), mixed.number.as_str(), mixed.next.as_str()),
            (
                Fitness::Limited,
                "LEAST MEAN ERROR at worst of 2 cases: anchored; least of a single distance: single-shot; fewest cycles: \
                 single-shot.",
                "At worst, in the mean and for a single distance of two events: single-shot 4.00 and 4.00 µs, anchored 0.90 and \
                 6.50 µs.",
                "jitterlab mcu recommend --mcu atmega128 --clock 7372800Hz --need 1ms:TOLERANCE (for your periods)"
            )
        );
        let tie =
            of(vec![alarm(anchored, 64, [0.2, 1.5], 320.0), alarm(single, 64, [0.204, 1.5], 320.0)]).unwrap();
        assert!(tie.verdict.starts_with("LEAST MEAN ERROR at worst of 1 case: single-shot and anchored;"));
        let one = of(vec![alarm(anchored, 64, [0.2, 1.5], 320.0)]).unwrap();
        assert_eq!(one.verdict, "NOT RANKED: only anchored was measured.");
        let apart =
            of(vec![alarm(anchored, 64, [0.2, 1.5], 320.0), alarm(single, 8, [0.2, 1.5], 320.0)]).unwrap();
        assert_eq!(apart.verdict, "NOT RANKED: no case was measured under all strategies.");
        assert_eq!(of(Vec::new()), None);
    }

    #[test]
    fn a_cost_names_what_takes_least_of_each() {
        let way = |name: &str, flash, cycles, off_us: f64| CostFigures {
            name: name.into(),
            size: Size { flash, ram: 4 },
            programming_cycles: None,
            longest_interrupt_cycles: cycles,
            interrupts_per_s: 50.0,
            interrupt_share: 0.01,
            asleep_share: 0.99,
            min_error_us: -off_us,
            max_error_us: 0.0,
        };
        let of = |costs| {
            cost(&McuCost {
                mcu: "atmega328p".into(),
                clock_hz: 8_000_000,
                prescaler: 64,
                period_us: 20_000,
                costs,
                missing: None,
            })
        };
        let head = of(vec![way("by hand", 1_120, 77, 0.0), way("anchored", 600, 300, 0.004)]).unwrap();
        assert_eq!(
            (head.fitness, head.verdict.as_str(), head.number.as_str()),
            (
                Fitness::Limited,
                "LEAST FLASH: “anchored”; shortest interrupt: “by hand”; most exact: “by hand” and “anchored”.",
                "“anchored” takes 600 bytes of flash and 300 cycles, and is exact; “by hand” takes 1 120 bytes of flash and 77 \
                 cycles, and is exact."
            )
        );
        assert_eq!(of(Vec::new()), None);
    }
}

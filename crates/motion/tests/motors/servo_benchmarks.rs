//! Published and independently computed costs of servo loops under delay and jitter.
#![expect(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use jitterlab_motion::catalog::{self, Device};
use jitterlab_motion::servo::{
    CovarianceAlongTrace, Design, Edge, Event, Loop, LoopAction, MarkovChain, Moment, Plant, Stationary,
    StretchDistribution, TimeBase,
};
use nalgebra::DMatrix;

const MS: i64 = 1_000_000;

fn dc_servo() -> Plant {
    catalog::find_device("dc-servo", None).unwrap()
}

fn plant(text: &str) -> Plant {
    Plant::from_toml("test", text).unwrap()
}

/// Events of a period, at times from its due time in ns.
type Pattern = Vec<(f64, Event)>;

/// Sample at the due time, write this much later.
fn delayed(delay_ns: i64) -> Pattern {
    vec![
        (0.0, LoopAction::Sample.as_only_task_event()),
        (delay_ns as f64, LoopAction::Finish.as_only_task_event()),
    ]
}

/// Sample and write together, late by this.
fn late(latency_ns: i64) -> Pattern {
    [LoopAction::Sample, LoopAction::Finish].map(|act| (latency_ns as f64, act.as_only_task_event())).into()
}

/// Periods with these patterns in proportion to their shares.
fn periods(closed: &mut Loop, period_ns: i64, patterns: &[(Pattern, f64)]) -> StretchDistribution {
    let mut stretches = StretchDistribution::new(closed.lasting_size());
    for (pattern, share) in patterns {
        stretches.add(&closed.passage(pattern, period_ns as f64), period_ns as f64 * 1e-9, *share);
    }
    stretches
}

/// The stationary loop for patterns with their probabilities, with a controller designed for a delay.
fn independent(
    plant: &Plant,
    period_ns: i64,
    design_delay_ns: i64,
    patterns: &[(Pattern, f64)],
) -> Stationary {
    let controller = plant.design.controller(plant, period_ns, design_delay_ns).unwrap();
    let mut closed = Loop::new(plant, &controller);
    MarkovChain::independent(&periods(&mut closed, period_ns, patterns), period_ns).stationary()
}

fn equal_shares(patterns: impl IntoIterator<Item = Pattern>) -> Vec<(Pattern, f64)> {
    patterns.into_iter().map(|p| (p, 1.0)).collect()
}

fn close(found: f64, expected: f64, relative: f64) {
    assert!((found - expected).abs() <= relative * expected.abs(), "{found} instead of {expected}");
}

/// Rows of a surface: period and the costs of 21 delays.
fn parse_surface(csv: &str) -> Vec<(i64, Vec<f64>)> {
    csv.lines()
        .skip(1)
        .map(|line| {
            let n: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
            ((n[0] * 1e9).round() as i64, n[1..].to_vec())
        })
        .collect()
}

#[test]
fn all_399_cells_of_the_constant_delay_surface() {
    let plant = dc_servo();
    let mut cells = 0;
    for (period_ns, row) in parse_surface(include_str!("../data/dcservo_pd_const_delay_J.csv")) {
        for (step, expected) in row.into_iter().enumerate() {
            let found =
                independent(&plant, period_ns, 0, &equal_shares([delayed(period_ns * step as i64 / 20)]));
            if expected.is_finite() {
                close(found.cost, expected, 1e-9);
            } else {
                assert!(found.cost.is_infinite() && !found.is_stable() && found.spectral_radius >= 1.0);
            }
            cells += 1;
        }
    }
    assert_eq!(cells, 399);
}

/// tau = tau1 + tau2, each uniform on {0..m} h/40: m + 1 - |k - m| of the (m + 1)^2 pairs have the sum k.
fn two_uniform_delays(period_ns: i64, m: i64) -> Vec<(Pattern, f64)> {
    (0..=2 * m).map(|k| (delayed(k * period_ns / 40), (m + 1 - (k - m).abs()) as f64)).collect()
}

/// The published figures are of 25 cells; the others come from a program of its own (one matrix exponential of the
/// Kronecker sum carries covariance and cost together) which meets the 25 too.
#[test]
fn all_399_cells_of_the_random_delay_surface() {
    let plant = dc_servo();
    let mut cells = 0;
    for (period_ns, row) in parse_surface(include_str!("../data/dcservo_pd_random_delay_J.csv")) {
        for (m, expected) in row.into_iter().enumerate() {
            let found = independent(&plant, period_ns, 0, &two_uniform_delays(period_ns, m as i64));
            close(found.cost, expected, 1e-9);
            cells += 1;
        }
    }
    assert_eq!(cells, 399);
}

#[test]
fn random_delays_of_the_published_surface() {
    let plant = dc_servo();
    for (period_ms, expected) in [
        (1, [48.404894, 48.699978, 49.148584, 49.604527, 49.912672]),
        (4, [57.407312, 59.117775, 61.85719, 64.829335, 66.957516]),
        (6, [65.523441, 68.950126, 74.720525, 81.41196, 86.514198]),
        (8, [76.239927, 82.628885, 94.192895, 109.051277, 121.628276]),
        (10, [90.970797, 102.866755, 126.962039, 163.981139, 202.510914]),
    ] {
        for (m, expected) in [0, 4, 10, 16, 20].into_iter().zip(expected) {
            let h = period_ms * MS;
            close(independent(&plant, h, 0, &two_uniform_delays(h, m)).cost, expected, 2e-8);
        }
    }
}

#[test]
fn an_integrator_under_minimum_variance_control() {
    let plant: Plant = catalog::find_device("integrator", None).unwrap();
    let h = 1000 * MS;
    let ideal = independent(&plant, h, 0, &equal_shares([delayed(0)]));
    close(ideal.cost, (3.0 + 3f64.sqrt()) / 6.0, 1e-11);
    close(ideal.covariance.unwrap()[(0, 0)], 1.0773502692, 1e-10);
    for (delay, expected) in
        [(0.1, 0.905275279259), (0.25, 1.150535413780), (0.5, 1.996206889325), (0.6, 2.879461689010)]
    {
        let found = independent(&plant, h, 0, &equal_shares([delayed((delay * 1e9) as i64)]));
        close(found.cost, expected, 1e-9);
    }
}

/// JitterTime, example 1: an integrator from rest, its controller running from the third second on.
#[test]
fn a_loop_that_starts_late_costs_what_jittertime_computes() {
    let plant: Plant = catalog::find_device("integrator", None).unwrap();
    let h = 1000 * MS;
    let closed = Loop::new(&plant, &plant.design.controller(&plant, h, 0).unwrap());
    for (seconds, accumulated) in
        [(1, 0.5), (3, 4.5), (4, 5.803847577293369), (5, 6.629510429125013), (6, 7.420841162336913)]
    {
        let mut walk = CovarianceAlongTrace::new(&closed, TimeBase::Nominal, None, 0);
        walk.process(Moment::Cut(0));
        for second in 3..=seconds.max(3) {
            walk.process(Moment::At(second.min(seconds) * h, LoopAction::Sample.as_only_task_event()));
            walk.process(Moment::At(second.min(seconds) * h, LoopAction::Finish.as_only_task_event()));
        }
        let found = walk.finish();
        close(found.cost * found.time_s, accumulated, 1e-12);
    }
}

/// P = 6/((s+1)(s+2)) with u = -y.
fn kushner_tobias() -> Plant {
    plant(
        "name = 'Kushner-Tobias'\n[transfer_function]\nnumerator = [6]\ndenominator = [1, 3, 2]\n\
         [controller]\nkind = 'pd'\ngain = 1.0\nderivative_time = '0 s'",
    )
}

#[test]
fn jitter_can_help_a_loop_kushner_tobias() {
    let (plant, h) = (kushner_tobias(), 1420 * MS);
    let sampling = |k: i64| independent(&plant, h, 0, &equal_shares((0..=k).map(|j| late(j * h / 50))));
    for (k, expected) in [(0, 138.212865), (5, 65.414675), (10, 31.303996), (20, 15.651506), (22, 15.247102)]
    {
        close(sampling(k).cost, expected, 1e-7);
    }
    assert!((sampling(0).spectral_radius - 0.978055).abs() < 1e-5);
    assert!(sampling(34).is_stable() && !sampling(35).is_stable());
    // Sampling stays on the grid, only the output jitters.
    for (k, expected) in
        [(0, 138.212865), (1, 26.450029), (2, 16.359336), (5, 9.899491), (10, 9.006125), (15, 11.552252)]
    {
        let patterns = equal_shares((0..=k).map(|j| delayed(j * h / 50)));
        close(independent(&plant, h, 0, &patterns).cost, expected, 1e-7);
    }
}

#[test]
fn an_lqg_exercise_with_delay_in_and_out_of_the_design() {
    let plant = plant(
        "name = 'exercise'\n[state_space]\na = [[0, 1], [0, -1]]\nb = [[0], [1]]\nc = [[1, 0]]\n\
         [noise]\ninput = 1.0\nmeasurement = 0.001\n[cost]\noutput = 1.0\ninput = 0.001\n\
         [controller]\nkind = 'lqg'",
    );
    let h = 100 * MS;
    let any = || equal_shares((0..=10).map(|j| delayed(j * h / 10)));
    let fixed = |delay| equal_shares([delayed(delay)]);
    for (patterns, design, expected) in [
        (fixed(0), 0, 0.01978045),
        (any(), 0, 0.03049439),
        (any(), h / 2, 0.02813823),
        (fixed(h), h, 0.03325866),
        (fixed(h / 2), h / 2, 0.02593819),
        (fixed(h), 0, 0.06150988),
    ] {
        close(independent(&plant, h, design, &patterns).cost, expected, 1e-6);
    }
    // L is the feedback of states; of the filter, d = -L K and b = Phi K + Gamma d.
    let feedback = Design::StateFeedback.controller(&plant, h, 0).unwrap();
    let (l, k) = ([22.31657668, 5.86618889], [0.73210225, 4.44378169]);
    (0..2).for_each(|i| close(feedback.d[(0, i)], -l[i], 1e-8));
    let filter = plant.design.controller(&plant, h, 0).unwrap();
    let d = -(l[0] * k[0] + l[1] * k[1]);
    close(filter.d[(0, 0)], d, 1e-8);
    let decay = (-0.1f64).exp();
    close(filter.b[(0, 0)], k[0] + (1.0 - decay) * k[1] + (0.1 - 1.0 + decay) * d, 1e-7);
    // Printed to 8 decimals, its two terms nearly cancel.
    close(filter.b[(1, 0)], decay * k[1] + (1.0 - decay) * d, 2e-6);
}

/// DC servo at 6 ms, delay 0.5 ms with 90 %, 5.5 ms with 10 %.
#[test]
fn bursts_cost_more_than_the_same_delays_at_random() {
    let (plant, h) = (dc_servo(), 6 * MS);
    let (short, long) = (delayed(MS / 2), delayed(5 * MS + MS / 2));
    let fixed = |p: &Pattern| independent(&plant, h, 0, &equal_shares([p.clone()])).cost;
    close(fixed(&short), 68.34829965, 1e-9);
    close(fixed(&long), 114.90692883, 1e-9);
    close(fixed(&delayed(MS)), 71.38418493, 1e-9);
    let mixed = independent(&plant, h, 0, &[(short.clone(), 0.9), (long.clone(), 0.1)]).cost;
    close(mixed, 71.67078369, 1e-9);
    let mut closed = Loop::new(&plant, &plant.design.controller(&plant, h, 0).unwrap());
    let one = |closed: &mut Loop, p: &Pattern, share| periods(closed, h, &[(p.clone(), share)]);
    let classes = vec![one(&mut closed, &short, 0.9), one(&mut closed, &long, 0.1)];
    // The Monte Carlo intervals were published with the computed costs.
    for (burst, expected, sampled, interval) in [
        (2.0, 71.836960, 71.82, 0.18),
        (5.0, 72.171299, 72.10, 0.18),
        (10.0, 72.469426, 72.39, 0.19),
        (20.0, 72.696941, 72.77, 0.19),
    ] {
        let transitions = bursts(0.1, burst);
        let found = chain_of(&classes, &transitions, h).stationary();
        close(found.cost, expected, 1e-8);
        assert!((found.cost - sampled).abs() < interval, "{burst}");
        let (along, error) = along_a_chain(&closed, [&short, &long], &transitions, h, &found);
        assert!(
            (along - expected).abs() < 4.0 * error && error < 2.0 * interval,
            "{burst}: {along} +- {error}"
        );
    }
    // Between the cost of the mean delay and the mean of the costs of the delays.
    assert!(71.38418493 < mixed && mixed < 0.9 * 68.34829965 + 0.1 * 114.90692883);
    // Without memory the chain is the independent loop.
    close(chain_of(&classes, &bursts(0.1, 1.0 / 0.9), h).stationary().cost, mixed, 1e-12);
}

/// The cost along 100 000 periods whose patterns follow a chain (numbers of Park and Miller), from event to event, and
/// its standard error by 50 batches.
fn along_a_chain(
    closed: &Loop,
    patterns: [&Pattern; 2],
    transitions: &DMatrix<f64>,
    h: i64,
    begin: &Stationary,
) -> (f64, f64) {
    const PERIODS: i64 = 100_000;
    let mut walk =
        CovarianceAlongTrace::new(closed, TimeBase::Nominal, begin.covariance.as_ref(), PERIODS / 50 * h);
    let (mut state, mut random) = (0, 20_011_116_u64);
    walk.process(Moment::Cut(0));
    for period in 0..PERIODS {
        for (offset_ns, event) in patterns[state] {
            walk.process(Moment::At(period * h + *offset_ns as i64, *event));
        }
        random = random * 16_807 % 2_147_483_647;
        state = usize::from(random as f64 / 2_147_483_647.0 >= transitions[(state, 0)]);
    }
    let found = walk.finish();
    let batches: Vec<f64> = found.curve.iter().map(|stretch| stretch.cost).collect();
    let count = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / count;
    let variance = batches.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (found.cost, (variance / count).sqrt())
}

/// Classes of stretches, each followed by the others with these probabilities (from row to column).
pub fn chain_of(classes: &[StretchDistribution], transitions: &DMatrix<f64>, period_ns: i64) -> MarkovChain {
    let numbers = || 0..classes.len();
    let all = numbers().flat_map(|from| numbers().map(move |to| (from, to)));
    let edges = all.map(|(from, to)| Edge { from, to, stretches: from, factor: transitions[(from, to)] });
    let classes: Vec<StretchDistribution> = classes.iter().map(StretchDistribution::normalised).collect();
    MarkovChain::new(
        classes.len(),
        classes.clone(),
        edges.filter(|edge| edge.factor > 0.0).collect(),
        period_ns,
    )
}

/// Transitions of two classes where the second has a share and a mean length of its bursts.
fn bursts(share: f64, mean_length: f64) -> DMatrix<f64> {
    let leave = 1.0 / mean_length;
    let enter = leave * share / (1.0 - share);
    DMatrix::from_row_slice(2, 2, &[1.0 - enter, enter, leave, 1.0 - leave])
}

#[test]
fn late_samples_with_late_outputs() {
    // 6 ms. The published values belong to latencies on {0..m} h/40, ends included, not to a continuous range;
    // that (by 50 midpoints, independently) is lower: the ends weigh more on a grid.
    let (plant, h) = (dc_servo(), 6 * MS);
    for (m, grid, continuous) in [
        (0, 65.523441, 65.523441),
        (5, 65.683707, 65.637695),
        (10, 66.080517, 65.986013),
        (20, 67.676073, 67.466729),
    ] {
        let found = independent(&plant, h, 0, &equal_shares((0..=m).map(|j| late(j * h / 40))));
        close(found.cost, grid, 1e-8);
        let midpoints = equal_shares((0..50).map(|j| late((2 * j + 1) * m * h / 4000)));
        close(independent(&plant, h, 0, &midpoints).cost, continuous, 1e-7);
    }
}

#[test]
fn missed_activations_cost_little_alone_and_stability_in_bursts() {
    let (plant, h) = (dc_servo(), 6 * MS);
    let ideal = independent(&plant, h, 0, &equal_shares([delayed(0)])).cost;
    let percent = |cost: f64| 100.0 * (cost / ideal - 1.0);
    let alone = independent(&plant, h, 0, &[(delayed(0), 0.99), (Vec::new(), 0.01)]).cost;
    assert!((percent(alone) - 1.80803).abs() < 1e-5);
    let mut closed = Loop::new(&plant, &plant.design.controller(&plant, h, 0).unwrap());
    let served = periods(&mut closed, h, &[(delayed(0), 0.99)]);
    let missed = periods(&mut closed, h, &[(Vec::new(), 0.01)]);
    let chain = |burst| chain_of(&[served.clone(), missed.clone()], &bursts(0.01, burst), h).stationary();
    assert!((percent(chain(2.0).cost) - 6.07560).abs() < 1e-5);
    let five = chain(5.0);
    assert!((percent(five.cost) - 541.99).abs() < 5e-3, "{five:?}");
    assert!((five.spectral_radius - 0.993).abs() < 5e-4);
    let ten = chain(10.0);
    assert!(!ten.is_stable() && (ten.spectral_radius - 1.0522).abs() < 5e-5, "{}", ten.spectral_radius);
}

#[test]
fn microseconds_hardly_matter_to_a_servo_at_1_khz() {
    let (plant, h) = (dc_servo(), MS);
    let ideal = independent(&plant, h, 0, &equal_shares([delayed(0)])).cost;
    let percent =
        |patterns: &[(Pattern, f64)]| 100.0 * (independent(&plant, h, 0, patterns).cost / ideal - 1.0);
    let jitter: Vec<_> = equal_shares((0..=100).map(|j| delayed(j * 100)));
    assert!((percent(&jitter) - 0.030321).abs() < 1e-5);
    assert!((percent(&equal_shares([delayed(10_000)])) - 0.060654).abs() < 1e-6);
    let spike = [(delayed(0), 1.0 - 1e-4), (delayed(500_000), 1e-4)];
    assert!((percent(&spike) - 0.000307).abs() < 1e-6);
    for (share, expected) in [(1e-4, 0.008302), (1e-3, 0.083150), (1e-2, 0.844813), (0.1, 9.971278)] {
        let skipped = [(delayed(0), 1.0 - share), (Vec::new(), share)];
        assert!((percent(&skipped) - expected).abs() < 1e-6, "{share}");
    }
}

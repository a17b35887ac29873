//! Cases of the literature, each as a user writes it: a plant file.
#![expect(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use jitterlab_motion::catalog::Device;
use jitterlab_motion::servo::{
    CovarianceAlongTrace, DelayMargin, Execution, ExecutionKind, Loop, LoopAction, LoopMargins, MarkovChain,
    Moment, Plant, SingleTaskLoop, Stationary, StretchDistribution, TimeBase, delay_margin,
};
use nalgebra::DMatrix;

use super::servo_benchmarks::chain_of;

const MS: i64 = 1_000_000;
const SECOND_NS: f64 = 1e9;

fn plant(text: &str) -> Plant {
    Plant::from_toml("published.toml", text).unwrap()
}

/// The stationary loop under one constant delay, in parts of the period.
fn delayed(plant: &Plant, period_ns: i64, share: f64) -> Stationary {
    let mut closed = Loop::new(plant, &plant.design.controller(plant, period_ns, 0).unwrap());
    MarkovChain::independent(&periods(&mut closed, period_ns, share), period_ns).stationary()
}

/// Periods with this delay, in parts of them.
fn periods(closed: &mut Loop, period_ns: i64, share: f64) -> StretchDistribution {
    let h = period_ns as f64;
    let events = [
        (0.0, LoopAction::Sample.as_only_task_event()),
        ((share * h).round(), LoopAction::Finish.as_only_task_event()),
    ];
    StretchDistribution::from_flow(&closed.passage(&events, h), h * 1e-9)
}

/// Zhang, Branicky and Phillips, "Stability of Networked Control Systems", IEEE Control Systems Magazine 21 (2001):
/// x' = u with u = -K x(kh) late by tau is stable for max(1/2 - 1/(Kh), 0) < tau/h < min(1/(Kh), 1).
#[test]
fn an_integrator_s_region_of_gain_and_delay() {
    let h = 100 * MS;
    for kh in [0.5, 1.2, 1.5, 1.9, 2.5, 3.0, 3.5] {
        let plant = plant(&format!(
            "name = 'integrator'\n[state_space]\na = [[0]]\nb = [[1]]\nc = [[1]]\n\
             [controller]\nkind = 'state-feedback'\ngain = [[{}]]",
            kh / (h as f64 / SECOND_NS)
        ));
        let (least, most): (f64, f64) = ((0.5 - 1.0 / kh).max(0.0), (1.0 / kh).min(1.0));
        let stable = |share: f64| delayed(&plant, h, share).is_stable();
        assert!(stable(least + 1e-4) && stable(most - 1e-4), "K h = {kh}");
        assert!(least == 0.0 || !stable(least - 1e-4), "K h = {kh}");
        assert!(most == 1.0 || !stable(most + 1e-4), "K h = {kh}");
    }
}

/// The same paper's second-order example, K = [3.75, 11.5]; sampled punctually it is stable up to h = 1.7294 s, the
/// bound to which sufficient criteria of networked control are compared since.
#[test]
fn the_longest_period_of_the_networked_example() {
    let plant = plant(
        "name = 'networked'\n[state_space]\na = [[0, 1], [0, -0.1]]\nb = [[0], [0.1]]\nc = [[1, 0]]\n\
         [controller]\nkind = 'state-feedback'\ngain = [[3.75, 11.5]]",
    );
    let stable = |h_s: f64| delayed(&plant, (h_s * SECOND_NS) as i64, 0.0).is_stable();
    assert!(stable(0.1) && stable(1.7293) && !stable(1.7295));
}

/// Cloosterman, van de Wouw, Heemels and Nijmeijer, "Stability of Networked Control Systems With Uncertain Time-Varying
/// Delays", IEEE Transactions on Automatic Control 54 (2009): a roller that moves paper, x'' = 126.7 u, K = [50, 11.8],
/// h = 1 ms. It is stable with either of two constant delays, 0.2 h and 0.6 h, and not when they alternate.
#[test]
fn two_delays_that_are_stable_alone_are_not_in_turn() {
    let plant = plant(
        "name = 'paper'\n[state_space]\na = [[0, 1], [0, 0]]\nb = [[0], [126.7]]\nc = [[1, 0]]\n\
         [controller]\nkind = 'state-feedback'\ngain = [[50, 11.8]]",
    );
    let h = MS;
    assert!(delayed(&plant, h, 0.2).is_stable() && delayed(&plant, h, 0.6).is_stable());
    let mut closed = Loop::new(&plant, &plant.design.controller(&plant, h, 0).unwrap());
    let classes = [0.2, 0.6].map(|share| periods(&mut closed, h, share));
    let in_turn = DMatrix::from_row_slice(2, 2, &[0.0, 1.0, 1.0, 0.0]);
    let found = chain_of(&classes, &in_turn, h).stationary();
    assert!(!found.is_stable() && found.spectral_radius > 1.0, "{found:?}");
}

/// Doyle and Stein, "Robustness with Observers", IEEE Transactions on Automatic Control 24 (1979): feedback gain
/// [50, 10], filter gain [30, -50], and the phase margin of the loop with the filter is less than 15 degrees.
/// They are of the continuous design; the sampled one goes there with the period.
const DOYLE_STEIN: &str = "name = 'Doyle and Stein'\n[state_space]\na = [[0, 1], [-3, -4]]\nb = [[0], [1]]\nc = [[2, 1]]\n\
     [noise]\nstate = [[1225, -2135], [-2135, 3721]]\nmeasurement = MEASUREMENT\n\
     [cost]\nstate = [[2800, 473.2863826479693], [473.2863826479693, 80]]\ninput = 1\n[controller]\nkind = 'KIND'";

#[test]
fn doyle_and_stein_s_gains_and_margins() {
    // A continuous measurement of intensity 1 has the variance 1/h at each sample.
    let h = 20_000;
    let of = |kind: &str| {
        let text = DOYLE_STEIN.replace("KIND", kind);
        let plant = plant(&text.replace("MEASUREMENT", &(SECOND_NS / h as f64).to_string()));
        let controller = plant.design.controller(&plant, h, 0).unwrap();
        (plant, controller)
    };
    let (plant, feedback) = of("state-feedback");
    for (found, expected) in feedback.d.iter().zip([50.0, 10.0]) {
        assert!((found + expected).abs() < 2e-3 * expected, "{}", feedback.d);
    }
    let nearest = |plant, controller| {
        LoopMargins::new(plant, controller, h, 0, 0).unwrap().smallest_phase_margin().unwrap()
    };
    let states = nearest(&plant, &feedback);
    assert!(states.degrees > 60.0, "a linear-quadratic loop has at least 60 degrees: {states:?}");
    let (plant, filtered) = of("lqg");
    let outputs = nearest(&plant, &filtered);
    assert!((14.0..15.0).contains(&outputs.degrees), "{outputs:?}");
    // The delay margin, a thousand periods, uses that phase up.
    let DelayMargin::UpTo(margin_ns) = delay_margin(&plant, &filtered, h) else { panic!("no margin") };
    let margin_s = margin_ns as f64 * 1e-9;
    assert!(
        (margin_s / (outputs.degrees.to_radians() / outputs.crossover_rad_per_s) - 1.0).abs() < 1e-3,
        "{margin_s} {outputs:?}"
    );
}

/// JitterTime's example lqg_dcmotor.m: a comment in it gives 1.4583 for the continuous loop; it is
/// 1.0381858551, the limit of the sampled loop for short periods.
#[test]
fn the_dc_motor_of_jittertime_under_lqg() {
    let cost = |h: i64| {
        let plant = plant(&format!(
            "name = 'DC motor'\n[state_space]\na = [[0, 1], [0, -1]]\nb = [[0], [1]]\nc = [[1, 0]]\n\
             [noise]\ninput = 1.0\nmeasurement = {}\n[cost]\nstate = [1.1, 0.3]\ninput = 0.7\n\
             [controller]\nkind = 'lqg'",
            0.01 * SECOND_NS / h as f64
        ));
        delayed(&plant, h, 0.0).cost
    };
    // The error is of first order in the period, and then of second: extrapolate both away.
    let [coarse, middle, fine] = [8 * MS, 4 * MS, 2 * MS].map(cost);
    let (first, second) = (2.0 * middle - coarse, 2.0 * fine - middle);
    let limit = (4.0 * second - first) / 3.0;
    println!("{coarse} {middle} {fine} -> {limit}");
    assert!((limit - 1.038_185_855_1).abs() < 1e-7, "{limit}");
}

/// Astrom and Wittenmark, *Computer-Controlled Systems*, 4.3: the double integrator's deadbeat feedback is
/// [1/h^2, 3/(2h)]: after two periods nothing is left but the noise of these two.
#[test]
fn a_double_integrator_is_at_rest_after_two_periods() {
    let (h, h_s) = (500 * MS, 0.5f64);
    let plant = plant(&format!(
        "name = 'deadbeat'\n[state_space]\na = [[0, 1], [0, 0]]\nb = [[0], [1]]\nc = [[1, 0]]\n\
         [controller]\nkind = 'state-feedback'\ngain = [[{}, {}]]",
        1.0 / (h_s * h_s),
        1.5 / h_s
    ));
    let found = delayed(&plant, h, 0.0);
    // The true value is zero; the powers of such a map leave the eighth root of the rounding, times its size to the eighth.
    assert!(found.spectral_radius < 0.2, "{found:?}");
    // P = R + F R F' with F = Phi - Gamma L and the noise of one period, R = [h^3/3, h^2/2; h^2/2, h].
    let noise = DMatrix::from_row_slice(2, 2, &[h_s.powi(3) / 3.0, h_s * h_s / 2.0, h_s * h_s / 2.0, h_s]);
    let f = DMatrix::from_row_slice(2, 2, &[0.5, h_s / 4.0, -1.0 / h_s, -0.5]);
    let expected = &noise + &f * &noise * f.transpose();
    let covariance = found.covariance.unwrap();
    assert!((covariance.view((0, 0), (2, 2)) - expected).amax() < 1e-12);
}

/// A PD controller given by its pulse transfer function is the PD controller.
#[test]
fn a_controller_can_be_a_transfer_function_or_matrices() {
    let h = 6 * MS;
    let loop_with = |controller: &str| {
        delayed(&plant(&format!(
            "name = 'DC servo'\n[transfer_function]\nnumerator = [1000]\ndenominator = [1, 1, 0]\n[cost]\noutput = 1\n\
             input = 1\n[controller]\n{controller}"
        )), h, 0.2)
        .cost
    };
    let slope = 0.035 / 0.006;
    let (now, before) = (1.5 * (1.0 + slope), -1.5 * slope);
    let given = loop_with(&format!(
        "kind = 'transfer-function'\nnumerator = [{now}, {before}]\ndenominator = [1, 0]"
    ));
    let matrices =
        loop_with(&format!("kind = 'state-space'\na = [[0]]\nb = [[1]]\nc = [[{before}]]\nd = [[{now}]]"));
    assert!((given - 72.662933).abs() < 1e-6 && (matrices - given).abs() < 1e-9, "{given} {matrices}");
}

/// `test/example_1_test.jl` and `test_periodic.jl` of JitterTime.jl (example 1 of JitterTime, Cervin and
/// others 2019): an integrator under minimum variance, whose controller misses its first two periods. The
/// tests there print the expected accumulated cost and variances with sixteen digits.
#[test]
fn an_integrator_whose_first_outputs_are_missed_costs_what_jittertime_prints() {
    let h = SECOND_NS as i64;
    let gain = (3.0 + 3f64.sqrt()) / (2.0 + 3f64.sqrt());
    let plant = plant(&format!(
        "name = 'integrator'\n[state_space]\na = [[0]]\nb = [[1]]\nc = [[1]]\n[cost]\nstate = [1]\n\
         [controller]\nkind = 'state-feedback'\ngain = [[{gain}]]"
    ));
    let closed = Loop::new(&plant, &plant.design.controller(&plant, h, 0).unwrap());
    for (end, expected) in [(3, 4.5), (4, 5.803847577293369), (5, 6.629510429125013), (6, 7.420841162336913)]
    {
        let mut walk = CovarianceAlongTrace::new(&closed, TimeBase::Nominal, None, 0);
        walk.process(Moment::Cut(0));
        for period in 3..=end {
            walk.process(Moment::At(period * h, LoopAction::Sample.as_only_task_event()));
            walk.process(Moment::At(period * h, LoopAction::Finish.as_only_task_event()));
        }
        let found = walk.finish();
        assert!((found.cost * found.time_s - expected).abs() < 1e-12, "{end}: {found:?}");
    }
    let found = delayed(&plant, h, 0.0);
    let variances = found.covariance.unwrap();
    assert!((variances[(0, 0)] - 1.077350269189626).abs() < 1e-12, "{variances}");
    assert!((variances[(1, 1)] - 1.732050807568876).abs() < 1e-12, "{variances}");
}

/// Sinopoli, Schenato, Franceschetti, Poolla, Jordan and Sastry, "Kalman Filtering With Intermittent Observations", IEEE
/// Transactions on Automatic Control 49 (2004): of a scalar plant that grows by 1.25 in each step, an estimator needs more than
/// 1 - 1/1.25^2 = 0.36 of its measurements. A constant gain needs as many where measurements are exact. Outputs go out at the end of
/// the period here, of jobs that are done just before and, predicted, of those that are killed then.
#[test]
fn an_observer_needs_36_percent_of_its_data() {
    let plant = plant(&format!(
        "name = 'growing'\n[state_space]\na = [[{}]]\nb = [[1]]\nc = [[1]]\n[noise]\ninput = 1\nmeasurement = 1e-9\n\
         [cost]\noutput = 1\ninput = 1\n[controller]\nkind = 'lqg'",
        1.25f64.ln()
    ));
    let h = SECOND_NS;
    let stable = |data: f64| {
        let kind = |ns: f64, share| ExecutionKind { share, low_ns: ns, high_ns: ns };
        let execution = Execution::with_independent_kinds(vec![kind(h - 1.0, data), kind(h, 1.0 - data)]);
        let (overrun, design_delay_ns) = ("kill/predict".parse().unwrap(), h as i64);
        let question =
            SingleTaskLoop { overrun, design_delay_ns, ..SingleTaskLoop::new(plant.clone(), h as i64) };
        question.stationary_with_execution(&execution).unwrap().is_stable()
    };
    assert!(stable(0.361) && !stable(0.359));
}

use super::*;
use crate::chart::{Layer, Shape, Terminal};
use jitterlab_analysis::matrix::{
    Cell, CellMeasurement, CellPlan, CellTiming, placements, propose, recommend,
};
use jitterlab_model::facts::Cpu;
use jitterlab_model::{CpuSet, SystemFacts};

fn matrix(cpus: u16, tasks: usize) -> Matrix {
    let figures =
        |us: f64| CellTiming { max_ns: Some(us * 1e3), p999_ns: Some(us * 500.0), ..CellTiming::default() };
    let mut measurements = Vec::new();
    for column in 0..cpus {
        for row in 0..if tasks > 1 { cpus } else { 1 } {
            let mut placed = vec![row; tasks];
            placed[0] = column;
            let us = if column == row { 2.5 } else { 10.0 + f64::from(column) };
            let tasks = (0..tasks).map(|t| figures(us + t as f64)).collect();
            measurements.push(CellMeasurement {
                cpus: placed,
                condition: "mem:2<1>".into(),
                repetition: 0,
                tasks,
            });
        }
    }
    Matrix { tasks: ["servo", "base"][..tasks].iter().map(|t| (*t).to_owned()).collect(), measurements }
}

/// Printed text of a completely measured matrix.
fn printed(matrix: &Matrix, facts: Option<&SystemFacts>, colour: bool) -> String {
    let sections = result(matrix, facts).sections();
    sections[0].text(Terminal { columns: 80, ascii: false, colour })
}

fn result(matrix: &Matrix, facts: Option<&SystemFacts>) -> MatrixResult {
    let index = MatrixIndex::new(Vec::new(), Vec::new(), &CpuSet::default(), 1, 3_000_000_000, 0);
    MatrixResult { recommendation: recommend(matrix, facts), matrix: matrix.clone(), index }
}

#[test]
fn a_recommendation_says_how_sure_it_is() {
    let mut m = matrix(2, 2);
    insta::assert_snapshot!(recommendation_sentences(&result(&m, None)).join("\n"), @"
    How sure: one repetition shows no spread; measure again with --rounds 3 or more.
    ");
    let again: Vec<_> =
        m.measurements.iter().map(|cell| CellMeasurement { repetition: 1, ..cell.clone() }).collect();
    m.measurements.extend(again);
    insta::assert_snapshot!(recommendation_sentences(&result(&m, Some(&SystemFacts::default()))).join("\n"), @"
    How sure: 100 % that both on CPU 0 is the best, by the bootstrap over repetitions.
    The tasks are on the same CPU.
    Whether these CPUs are isolated is unknown.
    ");
}

#[test]
fn the_table_is_the_report_s() {
    let text = printed(&matrix(2, 2), None, false);
    assert!(text.contains("columns: CPU of servo, rows: CPU of base"), "{text}");
    // The percentile that decides comes first, then the largest latency.
    let rows = text.lines().filter(|line| line.trim_start().starts_with("0 "));
    let rows: Vec<Vec<&str>> = rows.map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows, [["0", "1.2/1.8", "5.5/6.0"], ["0", "2.5/3.5", "11.0/12.0"]]);
    let conclusion = conclusion(&result(&matrix(2, 2), None)).unwrap();
    assert_eq!(conclusion.verdict, "BEST as seen: both on CPU 0; one repetition shows no spread.");
    assert!(
        conclusion.number.starts_with("p99.9: servo 1.25 µs, base 1.75 µs; worst placement"),
        "{conclusion:?}"
    );
}

#[test]
fn large_machines_stay_within_80_columns() {
    for tasks in [1, 2] {
        let text = printed(&matrix(24, tasks), None, false);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains(" 23"));
    }
}

/// Two packages of 16 cores with two threads each; the last two cores of each package isolated.
fn server() -> SystemFacts {
    let mut facts = SystemFacts::default();
    for id in 0..64u16 {
        let core = id % 32;
        let siblings = [core, core + 32].into_iter().collect();
        facts.cpus.push(Cpu { id, package: Some(core / 16), siblings, ..Cpu::default() });
    }
    facts.isolation.isolated = "30-31,62-63".parse().ok();
    facts
}

/// Simulated result of a bench: quiet on isolated CPUs, worst on CPU 0 with its chores, worse on two threads
/// of a core than on one, and a little different each time.
fn simulated(facts: &SystemFacts, cell: &Cell) -> Vec<CellTiming> {
    let isolated = facts.isolation.isolated.clone().unwrap_or_default();
    let sharing = facts.sharing(cell.cpus[0], cell.cpus[1]);
    let figures = cell.cpus.iter().map(|cpu| {
        let quiet = if isolated.contains(*cpu) { 3.0 } else { 9.0 };
        let chores = if *cpu == 0 { 2.0 } else { 1.0 };
        let shared = if sharing == Sharing::Core { 1.6 } else { 1.0 };
        let us = quiet * chores * shared * (1.0 + f64::from(cell.repetition % 3) / 20.0);
        CellTiming { max_ns: Some(us * 4e3), p999_ns: Some(us * 1e3), ..CellTiming::default() }
    });
    figures.collect()
}

#[test]
fn a_host_of_64_cpus_is_planned_shown_and_explained() {
    let facts = server();
    // One hour for two loads, three repetitions, 10 s each: 4096 pairs would take 68 hours.
    let affordable = 3_600 / (10 * 2 * 3);
    let proposal = propose(&facts, &facts.usable_cpus(), 2, affordable);
    let chosen = cpu_choice_sentence(&proposal, "");
    assert!(chosen.contains("of 64 CPUs"), "{chosen}");
    let places = placements(&proposal.cpus, 2);
    assert!((9..=affordable).contains(&places.len()), "{}", places.len());
    let plan = CellPlan::new(&places, &["none".into(), "mem:2".into()], 3, 1);
    let measurements = plan.cells.iter().map(|cell| CellMeasurement {
        cpus: cell.cpus.clone(),
        condition: cell.condition.clone(),
        repetition: cell.repetition,
        tasks: simulated(&facts, cell),
    });
    let matrix = Matrix { tasks: vec!["servo".into(), "base".into()], measurements: measurements.collect() };
    let recommendation = recommend(&matrix, Some(&facts)).unwrap();
    let isolated = facts.isolation.isolated.clone().unwrap();
    assert!(recommendation.cpus.iter().all(|cpu| isolated.contains(*cpu)), "{recommendation:?}");
    assert_ne!(facts.sharing(recommendation.cpus[0], recommendation.cpus[1]), Sharing::Core);
    assert!(recommendation.worst.contains(&0), "{recommendation:?}");
    let text = printed(&matrix, Some(&facts), false);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("How sure: "), "{text}");
}

#[test]
fn colours_are_for_terminals() {
    assert!(!printed(&matrix(2, 2), None, false).contains('\x1b'));
    assert!(printed(&matrix(2, 2), None, true).contains("48;5;78m"));
    assert_eq!(printed(&Matrix::default(), None, true), "nothing was measured yet\n");
}

#[test]
fn the_picture_holds_every_cell_and_no_foreign_markup() {
    let matrix = matrix(3, 2);
    let [Layer { shape: Shape::Cells(cells), .. }] =
        &charts(&matrix, CellStatistic::Max, "3 s each.")[0].layers[..]
    else {
        panic!("no cells")
    };
    assert_eq!(cells.cells.len(), 9);
    assert!(cells.key.1.iter().all(|(_, words)| words.ends_with(" µs")), "{:?}", cells.key);
    // The first row is at the top: CPU 0 with CPU 0.
    assert!(
        cells
            .cells
            .iter()
            .any(|(at, shade, words)| *at == [0.0, 2.0] && *shade == 0.0 && words == "2.5 / 3.5")
    );
    assert!(drawing(&result(&matrix, None)).svg().contains("mem:2&lt;1&gt;"));
}

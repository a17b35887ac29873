//! What `doctor` asks a person, where no option says it.
use std::io::{self, BufRead as _, IsTerminal as _};

use jitterlab_model::{Error, LoadSpec};
use jitterlab_motion::doctor::{JOBS, Job, Way};
use jitterlab_report::doctor::words::{self, Question};
use jitterlab_trace::Parts;

use super::Args;
use crate::{kept_parts, measure_args, output};

/// What was answered.
pub struct Answers {
    pub job: &'static Job,
    pub way: &'static Way,
    pub loads: Vec<LoadSpec>,
    pub budget_ns: i64,
}

const MINUTE_NS: i64 = 60_000_000_000;
/// Ten minutes, half an hour, a night.
const BUDGETS: [i64; 3] = [10 * MINUTE_NS, 30 * MINUTE_NS, 480 * MINUTE_NS];
/// What keeps a computer busy on which other programs run, and one on which none does.
const LOADS: [&[&str]; 2] = [&["cpu", "mem:1,64M", "net:1"], &["cpu:1"]];

/// The answers by options, by an earlier call, by a person, or by default, in this order.
pub fn answers(args: &Args, parts: &mut Parts) -> Result<Answers, Error> {
    let given = |text: &String| {
        let job = args.job.unwrap_or(&JOBS[0]);
        job.way(text).ok_or_else(|| {
            Error::bad_use(format!(
                "--by {text:?} is no way for {}: {}",
                job.name,
                job.ways.iter().map(|way| way.name).collect::<Vec<_>>().join(", ")
            ))
        })
    };
    let by = args.by.as_ref().map(given).transpose()?;
    let before: Option<[usize; 4]> = parts.next_kept().map(|(answers, _)| answers);
    let asks = !args.yes && before.is_none() && io::stdin().is_terminal() && io::stderr().is_terminal();
    let mut number = 0;
    let mut choose = |known: Option<usize>, question: Question, choices: usize| {
        number += 1;
        known.or_else(|| asks.then(|| ask(number, question, choices))).unwrap_or(0)
    };
    let known = |at: usize| before.map(|answers| answers[at]);
    let job = args.job.and_then(|job| JOBS.iter().position(|one| one == job));
    let job = choose(job.or(known(0)), Question::Job, JOBS.len());
    let job = JOBS.get(job).unwrap_or(&JOBS[0]);
    let way = by.and_then(|by| job.ways.iter().position(|way| way == by));
    let only = (job.ways.len() == 1).then_some(0);
    let way = choose(way.or(known(1)).or(only), Question::Way(job), job.ways.len());
    let busy = (!args.load.is_empty()).then_some(0);
    let busy = choose(busy.or(known(2)), Question::Busy, LOADS.len());
    let time = args.budget.map(|_| 0);
    let time = choose(time.or(known(3)), Question::Time, BUDGETS.len());
    if before.is_none() {
        let job = JOBS.iter().position(|one| one == job).unwrap_or(0);
        kept_parts::keep(parts, &[job, way, busy, time]);
    }
    let loads: Vec<String> = match args.load.as_slice() {
        [] => LOADS[busy.min(1)].iter().map(|load| (*load).to_owned()).collect(),
        given => given.to_vec(),
    };
    Ok(Answers {
        job,
        way: job.ways.get(way).unwrap_or(&job.ways[0]),
        loads: measure_args::loads(&loads)?,
        budget_ns: args.budget.unwrap_or(BUDGETS[time.min(2)]),
    })
}

/// Asks until one of the choices is named; an empty line is the first one.
fn ask(number: usize, question: Question, choices: usize) -> usize {
    output::note(&words::question(number, question));
    loop {
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => return 0,
            Ok(_) if line.trim().is_empty() => return 0,
            Ok(_) => {}
        }
        match line.trim().parse::<usize>() {
            Ok(chosen) if (1..=choices).contains(&chosen) => return chosen - 1,
            _ => output::note(&words::again(choices)),
        }
    }
}

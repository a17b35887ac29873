//! `jitterlab mcu`: firmware on a simulated microcontroller.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Subcommand;
use jitterlab_analysis::papers::epos::EVENTS;
use jitterlab_analysis::run_timing::RunTiming;
use jitterlab_bench::mcu::recommend::{self, Need};
use jitterlab_bench::mcu::run::Reading;
use jitterlab_bench::mcu::sweep::{self, Cell};
use jitterlab_bench::mcu::{
    Board, Compiler, EdgeKind, McuError, McuRun, Pin, Program, Setup, Simulator, Strategy, firmware,
};
use jitterlab_model::TimingStats;
use jitterlab_model::mcu::{McuRecommendation, McuSweep};
use jitterlab_model::units::{Exact, parse_duration_ns, parse_frequency_hz, parse_period_ns};
use jitterlab_report::document::Content;
use jitterlab_trace::{RunFileWriter, TraceError};

use crate::exit::{Failure, Outcome, Status};
use crate::output::{self, OutputArgs};

/// Measure firmware on a simulated AVR microcontroller, cycle by cycle
///
/// Needs a C compiler and simavr (Debian: gcc libsimavr-dev libelf-dev), and for programs that jitterlab builds itself the
/// cross compiler (gcc-avr avr-libc).
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Run(RunArgs),
    Sweep(SweepArgs),
    Recommend(RecommendArgs),
}

/// Measure one firmware: your own by one of its pins, or an alarm of jitterlab's time services
///
/// With neither --elf nor --source, a program with one periodic alarm is built and measured.
#[derive(clap::Args)]
struct RunArgs {
    /// Your firmware
    #[arg(long, value_name = "FILE", requires = "pin", conflicts_with_all = ["source", "strategy", "prescaler", "tick", "max_period", "events"])]
    elf: Option<PathBuf>,
    /// Your program in C++, to be built with jitterlab's time services and the traits asked for here
    #[arg(long, value_name = "FILE", requires = "pin")]
    source: Option<PathBuf>,
    /// The pin whose edges are the activations, such as B0
    #[arg(long, value_name = "PIN")]
    pin: Option<Pin>,
    /// Which edges begin an activation: rising, falling, both
    #[arg(long, default_value = "rising", value_name = "EDGE")]
    edge: EdgeKind,
    /// The chip; with --elf only needed if the firmware does not name it [default: atmega128]
    #[arg(long, value_name = "NAME")]
    mcu: Option<String>,
    /// Its clock, such as 16MHz; with --elf only needed if the firmware does not name it [default: 7.3728MHz]
    #[arg(long, value_parser = parse_frequency_hz, value_name = "FREQUENCY")]
    clock: Option<u32>,
    /// The period, as a time or a rate [default: 10ms, of your own programs the mean distance of the edges]
    #[arg(long, value_parser = parse_period_ns, value_name = "TIME")]
    period: Option<i64>,
    /// Simulated time at most, of your own programs [default: 10s]
    #[arg(short, long, value_parser = parse_duration_ns, value_name = "TIME")]
    duration: Option<i64>,
    /// How the time services use the timer: periodic, single-shot, anchored
    #[arg(long, default_value = "anchored")]
    strategy: Strategy,
    /// Divides the clock for timer 1: 1, 8, 64, 256, 1024
    #[arg(long, default_value_t = 64, value_parser = parse_prescaler)]
    prescaler: u16,
    /// The tick of the strategy periodic (trait TICK) [default: the period]
    #[arg(long, value_parser = parse_period_us, value_name = "TIME")]
    tick: Option<u32>,
    /// The longest period an alarm may have (trait MAX_PERIOD) [default: the period]
    #[arg(long, value_parser = parse_period_us, value_name = "TIME")]
    max_period: Option<u32>,
    /// Events of the alarm
    #[arg(short = 'n', long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(3..=10_000))]
    events: u32,
    /// The run file to write [default: none]
    #[arg(short, long, value_name = "FILE", value_parser = output::run_file)]
    output: Option<PathBuf>,
    #[command(flatten)]
    shown: OutputArgs,
}

/// Measure one alarm under many strategies, timer clocks and periods
#[derive(clap::Args)]
struct SweepArgs {
    /// How the time services use the timer, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "periodic,single-shot,anchored")]
    strategy: Vec<Strategy>,
    /// Dividers of the clock for timer 1, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "1024,256,64", value_parser = parse_prescaler)]
    prescaler: Vec<u16>,
    /// Periods, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "100us,1ms,10ms,100ms,1s,10s", value_parser = parse_period_us, value_name = "TIME")]
    period: Vec<u32>,
    /// Events of the alarm
    #[arg(short = 'n', long, default_value_t = EVENTS, value_parser = clap::value_parser!(u32).range(3..=10_000))]
    events: u32,
    /// The chip
    #[arg(long, default_value = "atmega128", value_name = "NAME")]
    mcu: String,
    /// Its clock
    #[arg(long, default_value = "7372800Hz", value_parser = parse_frequency_hz, value_name = "FREQUENCY")]
    clock: u32,
    #[command(flatten)]
    output: OutputArgs,
}

/// Find the strategy and the prescaler for a chip and the periods it has to keep
#[derive(clap::Args)]
struct RecommendArgs {
    /// A period and how much any distance of two events may differ from it, such as 20ms:50us; may be given several times
    #[arg(long = "need", required = true, value_parser = parse_need, value_name = "PERIOD:TOLERANCE")]
    needs: Vec<Need>,
    /// The chip
    #[arg(long, default_value = "atmega328p", value_name = "NAME")]
    mcu: String,
    /// Its clock
    #[arg(long, default_value = "8MHz", value_parser = parse_frequency_hz, value_name = "FREQUENCY")]
    clock: u32,
    #[command(flatten)]
    output: OutputArgs,
}

fn parse_prescaler(text: &str) -> Result<u16, String> {
    let known = firmware::PRESCALERS;
    text.parse()
        .ok()
        .filter(|p| known.contains(p))
        .ok_or_else(|| format!("{text:?} is not one of 1, 8, 64, 256, 1024"))
}

/// A period in whole microseconds, as the library's alarms take it.
fn parse_period_us(text: &str) -> Result<u32, String> {
    let ns = parse_period_ns(text).map_err(|e| e.to_string())?;
    whole_us(ns).map_err(|e| e.to_string())
}

fn whole_us(ns: i64) -> Result<u32, McuError> {
    match u32::try_from(ns / 1_000) {
        Ok(us) if us > 0 && ns % 1_000 == 0 => Ok(us),
        _ => Err(McuError::NotAPeriod(Exact(ns))),
    }
}

fn parse_need(text: &str) -> Result<Need, String> {
    let (period, tolerance) = text
        .split_once(':')
        .ok_or_else(|| format!("{text:?} is not PERIOD:TOLERANCE: write it like 20ms:50us"))?;
    let tolerance_us = parse_period_us(tolerance)?;
    Ok(Need { period_us: parse_period_us(period)?, tolerance_us })
}

/// Simulates as asked.
pub fn execute(args: &Args) -> Outcome {
    match &args.action {
        Action::Run(args) => run(args),
        Action::Sweep(args) => sweep(args),
        Action::Recommend(args) => recommend(args),
    }
}

/// What cannot be asked for is the user's mistake; everything else could not be measured.
pub fn sort(error: McuError) -> Failure {
    if error.is_bad_use() { Failure::bad_use(error) } else { Failure::from(error) }
}

fn run(args: &RunArgs) -> Outcome {
    let mut measured = measure(args).map_err(sort)?;
    sign(&mut measured);
    let mut stats = TimingStats::new(measured.info.tasks[0].spec.period_ns);
    stats.push_all(&measured.activations);
    let mut file = None;
    if let Some(path) = &args.output {
        file = Some(save(path, &measured)?.display().to_string());
    }
    let timing = RunTiming::of(measured.info, &[stats], file);
    args.shown.show(Content::Run(Box::new(RunTiming { sent: measured.sent, ..timing })))?;
    Ok(Status::Fine)
}

/// Says in a run by what it was made.
pub fn sign(run: &mut McuRun) {
    run.info.tool = concat!("jitterlab ", env!("CARGO_PKG_VERSION")).into();
    run.info.command = std::env::args().collect();
}

/// Writes a run as a run file.
pub fn save(path: &Path, run: &McuRun) -> Result<PathBuf, TraceError> {
    let mut file = RunFileWriter::create(path, 1)?;
    file.append(0, &run.activations)?;
    Ok(file.finish(&run.info)?.path)
}

fn measure(args: &RunArgs) -> Result<McuRun, McuError> {
    let simulator = Simulator::new()?;
    match (&args.elf, &args.source, args.pin) {
        (Some(elf), _, Some(pin)) => users_firmware(args, elf, elf, pin, &simulator),
        (_, Some(source), Some(pin)) => {
            let compiler = Compiler::new()?;
            let program = match args.period {
                Some(_) => Program::PeriodicAlarm { period_us: period_us(args)?, events: args.events },
                None => Program::Empty,
            };
            let firmware = compiler.build_file(&source.display().to_string(), &program, &board(args)?)?;
            users_firmware(args, source, &firmware.elf, pin, &simulator)
        }
        _ => own_alarm(args, &simulator),
    }
}

fn users_firmware(
    args: &RunArgs,
    named: &Path,
    elf: &Path,
    pin: Pin,
    simulator: &Simulator,
) -> Result<McuRun, McuError> {
    let traits = args.source.as_ref().map(|_| board(args)).transpose()?;
    let probe = |cycles| Setup {
        mcu: traits.as_ref().map(|board| board.mcu.clone()).or(args.mcu.clone()),
        clock_hz: traits.as_ref().map(|board| board.clock_hz).or(args.clock),
        pins: vec![pin],
        ..Setup::new(elf, cycles)
    };
    // The clock is not known before the firmware is read: let it be simulated for as many cycles as its time needs.
    let clock_hz = simulator.run(&probe(1))?.clock_hz;
    let duration_ns = args.duration.unwrap_or(10_000_000_000);
    let cycles = u128::from(duration_ns.unsigned_abs()) * u128::from(clock_hz) / 1_000_000_000;
    let recording = simulator.run(&probe(cycles as u64))?;
    let name = named.file_stem().map_or("firmware".into(), |stem| stem.to_string_lossy().into_owned());
    let reading = Reading { name, edge: args.edge, period_ns: args.period, ..Reading::default() };
    let mut run = McuRun::new(&recording, pin, &reading)?;
    run.info.duration_ns = Some(duration_ns);
    Ok(run)
}

fn own_alarm(args: &RunArgs, simulator: &Simulator) -> Result<McuRun, McuError> {
    let cell = Cell { board: board(args)?, period_us: period_us(args)?, events: args.events };
    let mut run = sweep::measure(&cell, &Compiler::new()?, simulator)?.run;
    run.info.count = Some(u64::from(args.events));
    Ok(run)
}

/// The period of an alarm: 10 ms where none is asked for.
fn period_us(args: &RunArgs) -> Result<u32, McuError> {
    whole_us(args.period.unwrap_or(10_000_000))
}

/// The traits asked for: what is not asked for is set ideally for the period.
fn board(args: &RunArgs) -> Result<Board, McuError> {
    let ideal = Board::ideal(args.strategy, args.prescaler, period_us(args)?);
    let board = Board {
        tick_us: args.tick.unwrap_or(ideal.tick_us),
        max_period_us: args.max_period.unwrap_or(ideal.max_period_us),
        ..ideal
    };
    let mcu = args.mcu.clone().unwrap_or(board.mcu.clone());
    let clock_hz = args.clock.unwrap_or(board.clock_hz);
    Ok(board.on(&mcu, clock_hz))
}

/// Says how far it is, where a person watches.
pub fn progress(quiet: bool) -> impl Fn(usize, usize) + Sync {
    let watched = !quiet && output::is_terminal();
    move |done, of| {
        if watched {
            output::progress(done, of);
        }
    }
}

fn sweep(args: &SweepArgs) -> Outcome {
    let compiler = Compiler::new().map_err(sort)?;
    let simulator = Simulator::new().map_err(sort)?;
    let mut cells = sweep::cells(&args.strategy, &args.prescaler, &args.period, args.events);
    for cell in &mut cells {
        cell.board = cell.board.clone().on(&args.mcu, args.clock);
    }
    let results =
        sweep::measure_all(&cells, &compiler, &simulator, &progress(args.output.is_json())).map_err(sort)?;
    let alarms = results.into_iter().map(|result| result.figures).collect();
    args.output.show(Content::McuSweep(McuSweep { mcu: args.mcu.clone(), clock_hz: args.clock, alarms }))?;
    Ok(Status::Fine)
}

fn recommend(args: &RecommendArgs) -> Outcome {
    let compiler = Compiler::new().map_err(sort)?;
    let simulator = Simulator::new().map_err(sort)?;
    let choices = recommend::recommend(
        &args.mcu,
        args.clock,
        &args.needs,
        &compiler,
        &simulator,
        &progress(args.output.is_json()),
    )
    .map_err(sort)?;
    let status = match choices.first() {
        Some(best) if best.fits => Status::Fine,
        Some(_) => Status::RequirementFailed,
        None => return Err(anyhow!("nothing was measured").into()),
    };
    let (mcu, clock_hz) = (args.mcu.clone(), args.clock);
    args.output.show(Content::McuRecommendation(McuRecommendation { mcu, clock_hz, choices }))?;
    Ok(status)
}

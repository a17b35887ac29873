//! `jitterlab mcu`: firmware on a simulated microcontroller.

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::papers::epos::EVENTS;
use jitterlab_bench::mcu::recommend::{self, Need};
use jitterlab_bench::mcu::request::whole_us;
use jitterlab_bench::mcu::sweep;
use jitterlab_bench::mcu::{Compiler, McuError, McuRequest, Pin, Strategy, Subject, firmware, value_changes};
use jitterlab_model::mcu::{McuRecommendation, McuSweep};
use jitterlab_model::units::{parse_frequency_hz, parse_period_ns};
use jitterlab_model::{EdgeKind, TimingStats};
use jitterlab_report::document::Content;

use crate::exit::{Ending, Status};
use crate::mistakes;
use crate::output::{self, OutputArgs};

/// Measure firmware on a simulated AVR microcontroller, cycle by cycle
///
/// Programs that jitterlab builds itself need the cross compiler (Debian: gcc-avr avr-libc).
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
    #[arg(short, long, value_parser = mistakes::duration, value_name = "TIME")]
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
    /// Write the pin's edges as a value change dump, for the programs of logic analysers
    #[arg(long, value_name = "FILE")]
    vcd: Option<PathBuf>,
    #[command(flatten)]
    show: OutputArgs,
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

fn parse_prescaler(text: &str) -> Result<u16, McuError> {
    let known = text.parse().ok().filter(|p| firmware::PRESCALERS.contains(p));
    known.ok_or_else(|| McuError::NotAPrescaler(text.into()))
}

/// A period in whole microseconds, as the library's alarms take it.
fn parse_period_us(text: &str) -> Result<u32> {
    Ok(whole_us(parse_period_ns(text)?)?)
}

fn parse_need(text: &str) -> Result<Need> {
    let (period, tolerance) = text.split_once(':').ok_or_else(|| McuError::NotANeed(text.into()))?;
    let tolerance_us = parse_period_us(tolerance)?;
    Ok(Need { period_us: parse_period_us(period)?, tolerance_us })
}

/// Simulates as asked.
pub fn execute(args: &Args) -> Ending {
    match &args.action {
        Action::Run(args) => run(args),
        Action::Sweep(args) => sweep(args),
        Action::Recommend(args) => recommend(args),
    }
}

fn run(args: &RunArgs) -> Ending {
    let measured = request(args).measure()?;
    if let Some(path) = &args.vcd {
        output::write_file(path, &value_changes(&measured)?)?;
    }
    let mut stats = TimingStats::new(measured.info.tasks[0].spec.period_ns);
    stats.push_all(&measured.activations);
    let file = args.output.as_ref().map(|path| measured.save(path)).transpose()?;
    args.show.show(Content::Run(Box::new(MeasuredRun::new(measured.info, &[stats], file))))?;
    Ok(Status::Fine)
}

fn request(args: &RunArgs) -> McuRequest {
    let subject = match (&args.elf, &args.source, args.pin) {
        (Some(elf), _, Some(pin)) => Subject::Elf(elf.clone(), pin),
        (_, Some(source), Some(pin)) => Subject::Source(source.clone(), pin),
        _ => Subject::OwnAlarm,
    };
    McuRequest {
        subject,
        edge: args.edge,
        mcu: args.mcu.clone(),
        clock_hz: args.clock,
        period_ns: args.period,
        duration_ns: args.duration,
        strategy: args.strategy,
        prescaler: args.prescaler,
        tick_us: args.tick,
        max_period_us: args.max_period,
        events: args.events,
    }
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

fn sweep(args: &SweepArgs) -> Ending {
    let compiler = Compiler::new()?;
    let mut cells = sweep::cells(&args.strategy, &args.prescaler, &args.period, args.events);
    for cell in &mut cells {
        cell.board = cell.board.clone().on(&args.mcu, args.clock);
    }
    let results = sweep::measure_all(&cells, &compiler, &progress(args.output.is_json()))?;
    let alarms = results.into_iter().map(|result| result.figures).collect();
    args.output.show(Content::McuSweep(McuSweep { mcu: args.mcu.clone(), clock_hz: args.clock, alarms }))?;
    Ok(Status::Fine)
}

fn recommend(args: &RecommendArgs) -> Ending {
    let compiler = Compiler::new()?;
    let choices = recommend::recommend(
        &args.mcu,
        args.clock,
        &args.needs,
        &compiler,
        &progress(args.output.is_json()),
    )?;
    let (mcu, clock_hz) = (args.mcu.clone(), args.clock);
    let found = McuRecommendation { mcu, clock_hz, choices };
    Ok(Status::of(args.output.show(Content::McuRecommendation(found))?))
}

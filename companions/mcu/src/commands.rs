//! The commands of `jitterlab mcu`.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand};
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::require::Requirement;
use jitterlab_console::exit::{CommandResult, Status};
use jitterlab_console::mistakes;
use jitterlab_console::output::{self, OutputArgs};
use jitterlab_mcu::recommend::{self, ChipRequirements, McuRecommendation};
use jitterlab_mcu::request::whole_us;
use jitterlab_mcu::several_alarms::AlarmRequirement;
use jitterlab_mcu::{
    Compiler, FailureCase, FirmwareSource, McuRequest, McuRun, Pin, SerialText, StimulusSpec, Strategy,
    firmware, value_change_dump,
};
use jitterlab_model::units::{ExactPeriod, parse_frequency_hz, parse_period_ns};
use jitterlab_model::{EdgeKind, Error, TaskRun, TimingStats};
use jitterlab_report::{requirement, warnings};

/// What is done with firmware.
#[derive(Subcommand)]
pub enum Action {
    Run(Box<RunArgs>),
    Recommend(RecommendArgs),
}

/// Measure one firmware: your own by its pins, or an alarm of jitterlab's time services
///
/// With neither --elf nor --source, a program with one periodic alarm is built and measured. With --max-jitter or --require: exit
/// status 0 if all of them are met, 1 if one is broken, 3 if that cannot be told.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("wanted").multiple(true).args(["max_jitter", "requirements"]))]
pub struct RunArgs {
    /// Your firmware
    #[arg(value_name = "FIRMWARE", conflicts_with_all = ["elf", "source", "strategy", "prescaler", "tick", "max_period", "events"])]
    firmware: Option<PathBuf>,
    /// Your firmware, by an option
    #[arg(long, value_name = "FILE", conflicts_with_all = ["source", "strategy", "prescaler", "tick", "max_period", "events"])]
    elf: Option<PathBuf>,
    /// Your program in C++, to be built with jitterlab's time services and the traits asked for here
    #[arg(long, value_name = "FILE")]
    source: Option<PathBuf>,
    /// The pin whose edges are the activations, such as B0, GP25 or an Arduino's 13; given several times, each is a task [default: all that
    /// the firmware drives]
    #[arg(long = "pin", value_name = "PIN")]
    pins: Vec<Pin>,
    /// Which edges begin an activation: rising, falling, both
    #[arg(long, default_value = "rising", value_name = "EDGE")]
    edge: EdgeKind,
    /// The chip; with --elf only needed if the firmware does not name it [default: atmega128]
    #[arg(long, value_name = "NAME")]
    mcu: Option<String>,
    /// Its clock, such as 16MHz; with --elf only needed if the firmware does not name it [default: 7.3728MHz; rp2040: 125MHz]
    #[arg(long, value_parser = parse_clock_hz, value_name = "FREQUENCY")]
    clock: Option<u32>,
    /// The period, as a time, a rate, or cycles of a clock (1023/16MHz); once, or once for each pin [default: 10ms, of your own programs the
    /// mean distance of the edges]
    #[arg(long = "period", value_name = "TIME")]
    periods: Vec<ExactPeriod>,
    /// What comes to pins from outside: a value change dump whose signals are named as pins, or pulses, such as D2:10ms:1ms; may be
    /// given several times
    #[arg(long = "stimulus", value_name = "FILE.vcd|PIN:PERIOD[:HIGH]")]
    stimuli: Vec<StimulusSpec>,
    /// A line of text that comes to the first serial port; may be given several times
    #[arg(long, value_name = "TEXT")]
    serial: Vec<String>,
    /// When the first of them begins
    #[arg(long, default_value = "100ms", requires = "serial", value_parser = mistakes::parse_duration, value_name = "TIME")]
    serial_at: i64,
    /// Bits in a second of --serial
    #[arg(long, default_value_t = 115_200, requires = "serial", value_name = "BAUD")]
    baud: u32,
    /// End with 1 if any distance of two activations is off its period by more than this: --require "period-error max <= TIME"
    #[arg(long, value_name = "TIME", value_parser = parse_max_jitter)]
    max_jitter: Option<Requirement>,
    /// End with 1 if a pin breaks this requirement, such as "p99.99 < 80us" or "missed = 0"; may be given several times
    #[arg(long = "require", value_name = "REQUIREMENT")]
    requirements: Vec<Requirement>,
    /// Write what each requirement came to as JUnit's XML
    #[arg(long, value_name = "FILE", requires = "wanted")]
    junit: Option<PathBuf>,
    /// Simulated time at most, of your own programs [default: 10s]
    #[arg(short, long, value_parser = mistakes::parse_duration, value_name = "TIME")]
    duration: Option<i64>,
    /// How the time services use the timer: periodic, single-shot, anchored
    #[arg(long, default_value = "anchored")]
    strategy: Strategy,
    /// Divides the clock for timer 1: 1, 8, 64, 256, 1024; the rp2040's timers have none [default: 64]
    #[arg(long, value_parser = parse_prescaler)]
    prescaler: Option<u16>,
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
    #[arg(short, long, value_name = "FILE", value_parser = output::parse_run_file)]
    output: Option<PathBuf>,
    /// Write the pins' edges as a value change dump, for the programs of logic analysers
    #[arg(long, value_name = "FILE")]
    vcd: Option<PathBuf>,
    #[command(flatten)]
    show: OutputArgs,
}

/// Find the strategy and the prescaler for a chip and the periods it has to keep, all of them together
#[derive(clap::Args)]
pub struct RecommendArgs {
    /// A period and how much any distance of two events may differ from it, such as 20ms:50us; may be given several times
    #[arg(long = "need", required = true, value_parser = parse_alarm_requirement, value_name = "PERIOD:TOLERANCE")]
    needs: Vec<AlarmRequirement>,
    /// The chip
    #[arg(long, default_value = "atmega328p", value_name = "NAME")]
    mcu: String,
    /// Its clock
    #[arg(long, default_value = "8MHz", value_parser = parse_clock_hz, value_name = "FREQUENCY")]
    clock: u32,
    /// The longest stretch with interrupts off outside of the alarms' handlers; other interrupts' handlers count as such
    #[arg(long, default_value = "0", value_parser = mistakes::parse_duration, value_name = "LENGTH")]
    lock: i64,
    /// The longest handler of an alarm, from its call to its return
    #[arg(long, default_value = "0", value_parser = mistakes::parse_duration, value_name = "LENGTH")]
    handler: i64,
    #[command(flatten)]
    output: OutputArgs,
}

/// Parses a frequency; a plain number of at least a kilohertz is in hertz, as in `F_CPU`. A smaller one may
/// be meant as megahertz, and is an error.
fn parse_clock_hz(text: &str) -> Result<u32, Error> {
    match text.trim_end_matches(['U', 'L']).parse() {
        Ok(hz) if hz >= 1_000 => Ok(hz),
        _ => parse_frequency_hz(text),
    }
}

fn parse_prescaler(text: &str) -> Result<u16, Error> {
    let known = text.parse().ok().filter(|p| firmware::PRESCALERS.contains(p));
    known.ok_or_else(|| Error::bad_use(format!("{text:?} is not one of 1, 8, 64, 256, 1024")))
}

/// Parses a period in whole microseconds, as the library's alarms take it.
fn parse_period_us(text: &str) -> Result<u32, Error> {
    whole_us(parse_period_ns(text)?)
}

fn parse_max_jitter(text: &str) -> Result<Requirement, Error> {
    format!("period-error max <= {text}").parse()
}

fn parse_alarm_requirement(text: &str) -> Result<AlarmRequirement, Error> {
    let (period, tolerance) = text.split_once(':').ok_or_else(|| {
        Error::bad_use(format!("{text:?} is not PERIOD:TOLERANCE")).remedy("write it like 20ms:50us")
    })?;
    let tolerance_us = parse_period_us(tolerance)?;
    Ok(AlarmRequirement { period_us: parse_period_us(period)?, tolerance_us })
}

/// Runs the requested simulation.
pub fn execute(action: &Action) -> CommandResult {
    match action {
        Action::Run(args) => run(args),
        Action::Recommend(args) => recommend(args),
    }
}

fn run(args: &RunArgs) -> CommandResult {
    let measured = mcu_request(args).measure().inspect_err(print_silent_pin_warnings)?;
    if let Some(path) = &args.vcd {
        output::write_file(path, &value_change_dump(&measured)?)?;
    }
    let of_pin = |(task, pin): (&TaskRun, &McuRun)| {
        let mut stats = TimingStats::new(task.spec.period_ns);
        stats.push_all(&pin.activations);
        stats
    };
    let stats: Vec<TimingStats> = measured.info.tasks.iter().zip(&measured.pins).map(of_pin).collect();
    let file = args.output.as_ref().map(|path| measured.save(path)).transpose()?;
    let requirements: Vec<Requirement> = args.max_jitter.iter().chain(&args.requirements).cloned().collect();
    let shown = file.as_ref().map_or("FILE".into(), |file| file.display().to_string());
    let required = (!requirements.is_empty()).then(|| measured.check_requirements(shown, &requirements));
    if let (Some(path), Some(required)) = (&args.junit, &required) {
        output::write_file(path, requirement::junit("jitterlab mcu run", required).as_bytes())?;
    }
    let run = MeasuredRun { required, ..MeasuredRun::new(measured.info, &stats, file) };
    Ok(Status::from_fitness(args.show.show(&run)?))
}

/// Prints the warnings of the chip for a pin that showed nothing: they may be the reason.
fn print_silent_pin_warnings(error: &Error) {
    let Some(FailureCase::Silent(warnings)) = error.case_of() else { return };
    for warning in warnings {
        output::print_warning(&warnings::warning_sentence(warning));
    }
}

fn mcu_request(args: &RunArgs) -> McuRequest {
    let subject = match (args.firmware.as_ref().or(args.elf.as_ref()), &args.source) {
        (Some(elf), _) => FirmwareSource::Elf(elf.clone(), args.pins.clone()),
        (_, Some(source)) => FirmwareSource::Source(source.clone(), args.pins.clone()),
        _ => FirmwareSource::OwnAlarm,
    };
    McuRequest {
        subject,
        edge: args.edge,
        mcu: args.mcu.clone(),
        clock_hz: args.clock,
        periods: args.periods.clone(),
        stimuli: args.stimuli.clone(),
        serial: (!args.serial.is_empty()).then(|| SerialText {
            lines: args.serial.clone(),
            baud: args.baud,
            begin_ns: args.serial_at.unsigned_abs(),
        }),
        duration_ns: args.duration,
        strategy: args.strategy,
        prescaler: args.prescaler,
        tick_us: args.tick,
        max_period_us: args.max_period,
        events: args.events,
    }
}

fn recommend(args: &RecommendArgs) -> CommandResult {
    let (lock_ns, handler_ns) = (args.lock, args.handler);
    let (mcu, clock_hz, needs) = (args.mcu.clone(), args.clock, args.needs.clone());
    let wanted = ChipRequirements { mcu, clock_hz, needs, lock_ns, handler_ns };
    let choices =
        recommend::recommend(&wanted, &Compiler::new()?, &output::progress_line(args.output.is_json()))?;
    let found = McuRecommendation { mcu: wanted.mcu, clock_hz, lock_ns, handler_ns, choices };
    Ok(Status::from_fitness(args.output.show(&found)?))
}

//! What the command line itself finds wrong: options that make no sense together, files that are in the way.

use std::io;
use std::path::PathBuf;

/// Why a command cannot do what was asked, as far as no other room says it. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// A companion that is not here.
    #[error("jitterlab {0} is a package of its own that is not installed: cargo build --release -p {1}")]
    NoCompanion(&'static str, &'static str),
    /// A companion that the system does not run.
    #[error("cannot run {}: {}", .0.display(), .1)]
    CompanionNotStarted(PathBuf, io::Error),
    /// A companion without a description of its commands.
    #[error("{} does not describe its commands, which are left out: install it again, of the same release", .0.display())]
    CompanionNotDescribed(PathBuf),
    /// A companion of another release.
    #[error("the commands of {} are left out: it is of {}; install the release of this jitterlab", .0.display(), .1)]
    OtherCompanion(PathBuf, String),
    /// Nothing that a script could change.
    #[error("nothing here is put right by a change that can be taken back: see jitterlab check --details")]
    NothingToUndo,
    /// No size of motors.
    #[error("{0:?} is no NEMA frame size: write a number, such as 17, 23 or 34")]
    NotAFrame(String),
    /// The width of a motor's flange.
    #[error("{0:?} is no NEMA frame size, such as 17, 23 or 34: did you mean {1}?")]
    FrameInMillimetres(String, u32),
    /// A frame size where a motor is named.
    #[error(
        "{0:?} is a frame size, no motor: say --frame {0} and its holding torque, such as --torque 1.9Nm"
    )]
    FrameAsMotor(String),
    /// An option that another format takes.
    #[error("--as {format} takes no {option}: verdicts are of junit, drives of linuxcnc")]
    NotOfFormat {
        /// The option.
        option: &'static str,
        /// The format.
        format: jitterlab_report::export::Format,
    },
    /// No run or no witness, or more.
    #[error("--align takes two files: the run and the capture, as in jitterlab compare --align RUN CAPTURE")]
    NotTwoToAlign,
    /// One output for several journals.
    #[error("--output is for one journal: recover each by itself")]
    OutputForSeveral,
    /// A share outside of 0 to 1.
    #[error("{0:?} is not a share above 0 and below 1, such as 1e-4 or 20%")]
    NotAShare(String),
    /// A share that is percent.
    #[error("{0:?} is not a share above 0 and below 1, such as 1e-4 or 20%: did you mean {0}%?")]
    NoPercent(String),
    /// A file that would be overwritten.
    #[error("{} exists already: remove it, or choose another --output", .0.display())]
    Exists(PathBuf),
    /// A compensation for a command that finds one.
    #[error("compensate finds out how early to wake: leave --compensate and compensate= out")]
    ChoosesMargin,
    /// A processor for a task that is measured on all of them.
    #[error("task {0}: the matrix chooses the CPUs, leave --cpu and cpu= out")]
    MatrixChooses(String),
    /// A directory without an index.
    #[error("there is no matrix in {}", .0.display())]
    NoMatrix(PathBuf),
    /// The figures of a run, instead of the run.
    #[error("{}: it holds figures of a run only: name the run file itself", .0.display())]
    FiguresOfRun(PathBuf),
    /// A directory of something else.
    #[error("{} is a directory, but none that `jitterlab matrix` left: name run files, or such a directory", .0.display())]
    NotAMatrix(PathBuf),
    /// The run file could not be written on.
    #[error("recording ended, the measurement goes on: {0}")]
    RecordingEnded(String),
    /// Where a run file goes by default, nothing can be written.
    #[error("no run file: {0}; name another place with --output")]
    NoRunFile(jitterlab_trace::TraceError),
    /// A task whose sleep failed.
    #[error("{task} could not wait any more: {why}")]
    WaitFailed {
        /// The task.
        task: String,
        /// The system's words.
        why: String,
    },
    /// A file that keeps a setting cannot be read, written or removed.
    #[error("{}: {error}; what helped is kept as root, or below a directory of your own", path.display())]
    NotKept {
        /// The file.
        path: PathBuf,
        /// The system's words.
        error: io::Error,
    },
    /// Somebody else's file, where a setting would be kept.
    #[error("{} is not from jitterlab: move it away, or keep below another directory", .0.display())]
    NotOurs(PathBuf),
    /// What earlier starts left cannot be read.
    #[error("{}: {error}; remove it to begin anew", path.display())]
    StartsUnreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: String,
    },
    /// Starts that were measured otherwise.
    #[error("{} holds starts that were measured with another task, load or --budget: give the same, or none of them, or begin anew in another directory", .0.display())]
    OtherStarts(PathBuf),
    /// A time in which nothing can be found out.
    #[error("--budget {} is too short for any answer: give {} or more", jitterlab_model::units::Exact(*.0), jitterlab_model::units::Exact(*.1))]
    DoctorBudget(i64, i64),
    /// A way that a job cannot be done.
    #[error("--by {way:?} is no way for {}: {}", job.name, job.ways.iter().map(|way| way.name).collect::<Vec<_>>().join(", "))]
    NoWay {
        /// What was given.
        way: String,
        /// The job.
        job: &'static jitterlab_motion::doctor::Job,
    },
}

impl CliError {
    /// Whether the arguments are at fault, rather than the machine.
    pub fn is_bad_use(&self) -> bool {
        !matches!(
            self,
            CliError::CompanionNotStarted(..)
                | CliError::NothingToUndo
                | CliError::NotKept { .. }
                | CliError::NotOurs(_)
                | CliError::StartsUnreadable { .. }
        )
    }
}

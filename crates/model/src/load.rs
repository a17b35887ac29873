//! Work that runs next to the tasks on purpose: `cpu:4`, `mem:2,256M@0-1`, `disk:1+36%`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;
use crate::error::Error;

/// CPUs that a load runs on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub enum Placement {
    /// On the CPUs that are not measured.
    #[default]
    Housekeeping,
    /// On every CPU that may be used, the measured ones included (`@all`).
    All,
    /// On these CPUs (`@0,1`).
    Cpus(CpuSet),
}

/// One load as requested: `KIND[:ARGUMENTS][@CPUS][+START%]`.
///
/// The bench defines the meaning of a kind's arguments.
///
/// ```
/// use jitterlab_model::LoadSpec;
///
/// let load: LoadSpec = "mem:2,256M@0-1".parse()?;
/// assert_eq!((load.kind.as_str(), load.to_string().as_str()), ("mem", "mem:2,256M@0-1"));
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub struct LoadSpec {
    /// Kind of work, such as `cpu`.
    pub kind: String,
    /// Amount of work, such as `4` or `2,256M`; may be empty.
    pub arguments: String,
    /// CPUs it runs on.
    pub placement: Placement,
    /// The share of the run's length, in percent, after which it starts.
    pub start_percent: u8,
}

/// Splits text such as `cpu:1+36%` into `cpu:1` and 36, the percentage of the run after which it starts.
fn split_start(text: &str) -> Option<(&str, u32)> {
    let (before, percent) = text.strip_suffix('%')?.rsplit_once('+')?;
    Some((before.trim_end(), percent.parse().ok()?))
}

impl FromStr for LoadSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut rest = text.trim();
        let mut start_percent = 0;
        if let Some((before, start)) = split_start(rest) {
            let single = split_start(before).is_none();
            let percent = u8::try_from(start).ok().filter(|percent| *percent < 100 && single);
            start_percent = percent.ok_or_else(|| {
                Error::bad_use(format!("{text:?}: a load starts at +0% to +99% of the run"))
            })?;
            rest = before;
        }
        // Commands may hold an @ of their own, so it only counts before a list of CPUs.
        let mut placement = Placement::Housekeeping;
        if let Some((before, place)) = rest.rsplit_once('@') {
            if place == "all" {
                (rest, placement) = (before, Placement::All);
            } else if let Some(cpus) = place.parse::<CpuSet>().ok().filter(|cpus| !cpus.is_empty()) {
                (rest, placement) = (before, Placement::Cpus(cpus));
            }
        }
        let (kind, arguments) = rest.split_once(':').unwrap_or((rest, ""));
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if kind.is_empty() || !kind.chars().all(is_name) {
            return Err(Error::bad_use(format!("{text:?} is not a load")).remedy(
                "write KIND[:ARGUMENTS][@CPUS][+START%], such as cpu:4, mem:2,256M@0-1 or disk:1+36%",
            ));
        }
        Ok(LoadSpec { kind: kind.into(), arguments: arguments.into(), placement, start_percent })
    }
}

impl fmt::Display for LoadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.arguments.is_empty() {
            write!(f, ":{}", self.arguments)?;
        }
        match &self.placement {
            Placement::Housekeeping => {}
            Placement::All => write!(f, "@all")?,
            Placement::Cpus(cpus) => write!(f, "@{cpus}")?,
        }
        if self.start_percent > 0 {
            write!(f, "+{}%", self.start_percent)?;
        }
        Ok(())
    }
}

crate::as_text!(LoadSpec);

/// The load that ran next to the tasks of a run. JSON: the list of requested loads, empty where none was; `null` if
/// unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "Option<Vec<LoadSpec>>"))]
#[serde(from = "StoredLoad", into = "Option<Vec<LoadSpec>>")]
pub struct Load(Option<Vec<LoadSpec>>);

impl Load {
    /// Unknown load.
    pub const UNKNOWN: Load = Load(None);
    /// No load was started.
    pub const NONE: Load = Load(Some(Vec::new()));

    /// Creates it from the started loads.
    pub fn from_specs(specs: impl IntoIterator<Item = LoadSpec>) -> Self {
        Load(Some(specs.into_iter().collect()))
    }

    /// Returns the started loads; `None` if unknown.
    pub fn specs(&self) -> Option<&[LoadSpec]> {
        self.0.as_deref()
    }

    /// Returns true if it is known that no load was started.
    pub fn is_none(&self) -> bool {
        self.0.as_ref().is_some_and(Vec::is_empty)
    }
}

impl fmt::Display for Load {
    /// Writes it as options take it: `cpu:4 disk:1`, `none`, `unknown`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.specs() {
            None => f.pad("unknown"),
            Some([]) => f.pad("none"),
            Some(specs) => f.pad(&specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
        }
    }
}

impl From<Load> for Option<Vec<LoadSpec>> {
    fn from(load: Load) -> Self {
        load.0
    }
}

/// A load as run files of all formats hold it.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredLoad {
    Specs(Vec<LoadSpec>),
    /// Format 1: words such as `cpu:4 disk:1+36%`, with the intensities reached in brackets once the run had ended.
    Words(String),
    Unknown,
}

impl From<StoredLoad> for Load {
    fn from(stored: StoredLoad) -> Self {
        match stored {
            StoredLoad::Unknown => Load::UNKNOWN,
            StoredLoad::Specs(specs) => Load::from_specs(specs),
            StoredLoad::Words(words) if words == "none" => Load::NONE,
            StoredLoad::Words(words) => {
                let mut outside = String::new();
                let mut depth = 0;
                for c in words.chars() {
                    match c {
                        '(' => depth += 1,
                        ')' => depth -= 1,
                        _ if depth == 0 => outside.push(c),
                        _ => {}
                    }
                }
                // A comma is left alone where an intensity was removed before it.
                let specs = outside.split_whitespace().map(|word| word.trim_end_matches(','));
                let read: Result<Vec<LoadSpec>, _> =
                    specs.filter(|spec| !spec.is_empty()).map(str::parse).collect();
                // Loads that cannot be read (a command with blanks, `unknown`) make the whole unknown rather than half
                // known.
                let known = |specs: &Vec<LoadSpec>| {
                    !specs.is_empty() && words != "unknown" && specs.iter().all(|s| s.kind != "exec")
                };
                Load(read.ok().filter(known))
            }
        }
    }
}

/// Unit of a load's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadUnit {
    /// Bytes touched, transferred, written or read.
    Bytes,
    /// System calls, processes made, interrupts.
    Operations,
}

/// One load as it ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadRun {
    /// The load as requested.
    pub spec: LoadSpec,
    /// The CPUs it was on.
    pub cpus: CpuSet,
    /// Its processes.
    pub workers: u32,
    /// Time it worked, in nanoseconds.
    pub active_ns: i64,
    /// Processor time of all its processes.
    pub cpu_time_ns: i64,
    /// The part of it that the kernel worked for them; `None` in files that do not have it.
    #[serde(default)]
    pub system_time_ns: Option<i64>,
    /// Time that its CPUs spent in interrupts and softirqs while it worked, whoever caused them; `None` if unknown.
    #[serde(default)]
    pub interrupt_time_ns: Option<i64>,
    /// Work done, in its unit.
    pub done: u64,
    /// The unit; `None` where only the processor time measures its work.
    pub unit: Option<LoadUnit>,
    /// Its failure, if there was one.
    pub failure: Option<String>,
}

impl LoadRun {
    /// The number of CPUs it kept busy, on average; `None` if it never worked.
    pub fn busy_cpus(&self) -> Option<f64> {
        (self.active_ns > 0).then(|| self.cpu_time_ns as f64 / self.active_ns as f64)
    }

    /// Share of its processor time that it spent in its own code, not in the kernel; `None` if unknown.
    pub fn user_share(&self) -> Option<f64> {
        let system_ns = self.system_time_ns.filter(|_| self.cpu_time_ns > 0)?;
        Some(1.0 - system_ns as f64 / self.cpu_time_ns as f64)
    }

    /// Share of its CPUs' time that went to interrupts and softirqs; `None` if unknown.
    pub fn interrupt_share(&self) -> Option<f64> {
        let all_ns = self.active_ns as f64 * self.cpus.len() as f64;
        self.interrupt_time_ns.filter(|_| all_ns > 0.0).map(|ns| ns as f64 / all_ns)
    }

    /// Number of CPUs that a load should keep busy if it only computes; `None` for loads that wait.
    pub fn wanted_cpus(&self) -> Option<u32> {
        let computes = ["cpu", "hog", "mem", "cache", "fork", "proc"].contains(&self.spec.kind.as_str());
        computes.then(|| self.workers.min(u32::try_from(self.cpus.len()).unwrap_or(u32::MAX)))
    }

    /// Returns its work per second, in its unit; `None` if that is not counted.
    pub fn rate_per_s(&self) -> Option<f64> {
        self.unit.filter(|_| self.active_ns > 0).map(|_| self.done as f64 * 1e9 / self.active_ns as f64)
    }
}

impl fmt::Display for LoadRun {
    /// The load and its achieved intensity: `mem:2@0 (3.2 GB/s, 0.98 CPUs, 40 % user)`; `0.49 of 2 CPUs` where it got less than it
    /// asked for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.spec)?;
        if let Some(failure) = &self.failure {
            return write!(f, " (failed: {failure})");
        }
        let Some(cpus) = self.busy_cpus() else { return write!(f, " (did not start)") };
        match (self.unit, self.rate_per_s()) {
            (Some(LoadUnit::Bytes), Some(rate)) if rate >= 1e9 => write!(f, " ({:.1} GB/s, ", rate / 1e9)?,
            (Some(LoadUnit::Bytes), Some(rate)) => write!(f, " ({:.1} MB/s, ", rate / 1e6)?,
            (Some(LoadUnit::Operations), Some(rate)) => write!(f, " ({rate:.0}/s, ")?,
            _ => write!(f, " (")?,
        }
        write!(f, "{cpus:.2} ")?;
        if let Some(wanted) = self.wanted_cpus().filter(|wanted| cpus < 0.9 * f64::from(*wanted)) {
            write!(f, "of {wanted} ")?;
        }
        write!(f, "CPUs")?;
        if let Some(user) = self.user_share() {
            write!(f, ", {:.0} % user", user * 100.0)?;
        }
        if let Some(share) = self.interrupt_share() {
            write!(f, ", {:.0} % of CPU {} in interrupts", share * 100.0, self.cpus)?;
        }
        write!(f, ")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> (String, String, Placement, u8) {
        let spec: LoadSpec = text.parse().unwrap();
        (spec.kind, spec.arguments, spec.placement, spec.start_percent)
    }

    #[test]
    fn every_part_is_read() {
        let cpus = |text: &str| Placement::Cpus(text.parse().unwrap());
        assert_eq!(read("cpu"), ("cpu".into(), "".into(), Placement::Housekeeping, 0));
        assert_eq!(read("mem:2,256M@0-1"), ("mem".into(), "2,256M".into(), cpus("0-1"), 0));
        assert_eq!(read("disk:1,/data@all+36%"), ("disk".into(), "1,/data".into(), Placement::All, 36));
        assert_eq!(
            read("exec:mail root@example"),
            ("exec".into(), "mail root@example".into(), Placement::Housekeeping, 0)
        );
        assert_eq!(read("stress-ng:--vm 2 --vm-bytes 80%").1, "--vm 2 --vm-bytes 80%");
    }

    #[test]
    fn what_is_printed_is_read_as_the_same_with_blanks_and_without_a_start() {
        for (text, printed) in
            [("cpu:4@1[\t+0%", "cpu:4@1["), ("cpu +5%", "cpu+5%"), ("exec:a b @0 +0%", "exec:a b @0")]
        {
            let load: LoadSpec = text.parse().unwrap();
            assert_eq!(load.to_string(), printed);
            assert_eq!(printed.parse(), Ok(load));
        }
        // Two starts: the second is 0 % and is not printed; without it the first would be the start.
        for text in ["cpu:1+3%+0%", "cpu:1@0+3% +0%", "cpu:1+3%+4%"] {
            assert_eq!(
                text.parse::<LoadSpec>(),
                Err(Error::bad_use(format!("{text:?}: a load starts at +0% to +99% of the run")))
            );
        }
    }

    #[test]
    fn a_load_is_known_none_or_not_known_and_words_of_format_1_are_read() {
        let read = |json: &str| serde_json::from_str::<Load>(json).unwrap();
        assert_eq!((read("null"), read("[]")), (Load::UNKNOWN, Load::NONE));
        let two = Load::from_specs(["cpu:4".parse().unwrap(), "disk:1+36%".parse().unwrap()]);
        assert_eq!(read(r#"["cpu:4","disk:1+36%"]"#), two);
        assert_eq!(serde_json::to_string(&two).unwrap(), r#"["cpu:4","disk:1+36%"]"#);
        assert_eq!(read(r#""cpu:4 disk:1+36%""#), two);
        assert_eq!(read(r#""cpu:4 (3.98 CPUs), disk:1+36% (0.2 GB/s, 0.31 CPUs)""#), two);
        assert_eq!(
            (read(r#""none""#), read(r#""unknown""#), read(r#""""#)),
            (Load::NONE, Load::UNKNOWN, Load::UNKNOWN)
        );
        assert_eq!(two.to_string(), "cpu:4 disk:1+36%");
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| text.parse::<LoadSpec>().unwrap_err().to_string();
        assert!(message("").contains("cpu:4"));
        assert!(message(":4").contains("cpu:4"));
        assert!(message("stress -c 4").contains("cpu:4"));
        assert!(message("cpu:1+100%").contains("+99%"));
    }

    #[test]
    fn intensity_is_told_in_its_unit() {
        let mut run = LoadRun {
            spec: "mem:2@0".parse().unwrap(),
            cpus: "0".parse().unwrap(),
            workers: 2,
            active_ns: 2_000_000_000,
            cpu_time_ns: 1_960_000_000,
            system_time_ns: None,
            interrupt_time_ns: None,
            done: 6_400_000_000,
            unit: Some(LoadUnit::Bytes),
            failure: None,
        };
        assert_eq!(run.to_string(), "mem:2@0 (3.2 GB/s, 0.98 CPUs)");
        run.system_time_ns = Some(490_000_000);
        run.cpus = "0-1".parse().unwrap();
        run.interrupt_time_ns = Some(120_000_000);
        let ran = "mem:2@0 (3.2 GB/s, 0.98 of 2 CPUs, 75 % user, 3 % of CPU 0-1 in interrupts)";
        assert_eq!(run.to_string(), ran);
        run.failure = Some("no space left".into());
        assert_eq!(run.to_string(), "mem:2@0 (failed: no space left)");
        let never = LoadRun { active_ns: 0, failure: None, ..run };
        assert_eq!(never.to_string(), "mem:2@0 (did not start)");
    }

    proptest! {
        #[test]
        fn a_load_written_is_the_load_read(
            kind in "[a-z][a-z-]{0,8}", arguments in "[0-9a-zA-Z,/ .=-]{0,12}",
            cpus in prop::option::of(prop::collection::vec(0u16..64, 1..5)), start_percent in 0u8..100
        ) {
            let arguments = arguments.trim().to_owned();
            let placement = match cpus {
                Some(cpus) => Placement::Cpus(cpus.into_iter().collect()),
                None => Placement::Housekeeping,
            };
            let spec = LoadSpec { kind, arguments, placement, start_percent };
            prop_assert_eq!(spec.to_string().parse(), Ok(spec));
        }

        #[test]
        fn any_text_gives_an_answer_and_never_a_panic(text in "\\PC{0,40}") {
            let _ = text.parse::<LoadSpec>();
        }
    }
}

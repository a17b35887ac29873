//! The guest's job and its answer, both as files: the job in its initial file system, the answer in the
//! archive it sends back.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use super::cpio;
use super::devices::Devices;

pub const JOB_FILE: &str = "/jitterlab/job.json";
/// Folder of the guest's modules, in the order they are loaded.
pub const MODULES: &str = "/jitterlab/modules";
/// The guest's working directory: every file left there comes back.
pub const RESULTS: &str = "/results";
/// Path of jitterlab, which measures, in the guest.
pub const JITTERLAB: &str = "/bin/jitterlab";
/// Path in the guest of its first process: the companion that made the guest.
pub const INIT: &str = "/init";
/// Begin of the console's message if the guest itself could not go on.
pub const ERROR_PREFIX: &str = "jitterlab guest: ";
/// Word after `--` on the kernel's command line that marks a guest for the companion.
pub const INIT_WORD: &str = "guest";

/// Work of the guest, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Job {
    /// File names of the modules in [`MODULES`], loaded first.
    pub modules: Vec<String>,
    pub devices: Devices,
    /// The device that the answer is written to.
    pub answer: String,
    /// The commands, one after the other; a failed one does not stop the next.
    pub steps: Vec<Step>,
}

/// One command of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its name, unique in the job: its output comes back under it.
    pub name: String,
    /// The program (with its path in the guest, or found in PATH) and its arguments.
    pub command: Vec<String>,
}

/// Result of one command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepResult {
    /// Its exit status; `None` if a signal ended it or it never started.
    pub status: Option<i32>,
    /// Why there is no exit status.
    pub failure: Option<String>,
    pub stdout: String,
    pub stderr: String,
}

/// Everything the guest sent back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    pub steps: BTreeMap<String, StepResult>,
    /// The files the commands left in [`RESULTS`], by their path below it.
    pub files: BTreeMap<String, Vec<u8>>,
}

const STEPS: &str = "steps.json";
const FILES: &str = "files/";

impl Answer {
    /// Encodes the answer as the archive that the guest sends.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut archive = cpio::CpioArchive::new();
        let steps = serde_json::to_vec(&self.steps)?;
        archive.add_file(STEPS, 0o644, &steps).map_err(io::Error::other)?;
        for (path, content) in &self.files {
            archive.add_file(&format!("{FILES}{path}"), 0o644, content).map_err(io::Error::other)?;
        }
        Ok(archive.finish())
    }

    /// Decodes an answer; `None` if it did not arrive whole.
    pub fn from_bytes(bytes: &[u8]) -> Option<Answer> {
        let mut answer = Answer::default();
        let mut complete = false;
        for file in cpio::read(bytes).ok()? {
            if file.path == STEPS {
                answer.steps = serde_json::from_slice(&file.content).ok()?;
                complete = true;
            } else if let (Some(path), true) = (file.path.strip_prefix(FILES), file.is_regular()) {
                answer.files.insert(path.into(), file.content);
            }
        }
        complete.then_some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_sent_is_the_answer_received_whole_or_not_at_all() {
        let step = StepResult { status: Some(3), stderr: "no \u{1f980}".into(), ..StepResult::default() };
        let answer = Answer {
            steps: [("run".into(), step)].into(),
            files: [("run.jitter".into(), vec![0, 13, 10, 255]), ("a/b".into(), vec![])].into(),
        };
        let bytes = answer.to_bytes().unwrap();
        assert_eq!(Answer::from_bytes(&bytes), Some(answer));
        assert_eq!(Answer::from_bytes(&bytes[..bytes.len() - 8]), None);
        assert_eq!(Answer::from_bytes(b""), None);
    }
}

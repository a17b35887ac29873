//! Immediate advice of `check` as a script, which can undo all of it.

use std::collections::BTreeSet;

use jitterlab_model::check::{Action, CheckReport, RemedyKind, Status};

use super::words;
use crate::words::cpus_text;

/// The part that changes and takes back: each file's old value is kept before the new one is written.
const SCRIPT_FRAME: &str = r#"
set -u
saved=/run/jitterlab-check.saved
[ "$(id -u)" = 0 ] || { echo "run this as root: sudo bash $0" >&2; exit 3; }
if [ "${1:-}" = undo ]; then
    [ -s "$saved" ] || { echo "nothing to take back" >&2; exit 0; }
    tac "$saved" | while IFS=' ' read -r file value; do
        echo "$value" > "$file" && echo "back: $file = $value"
    done
    rm -f "$saved"
    exit 0
fi
# VALUE FILE...: a file that offers choices shows the one in force in brackets.
change() {
    local value=$1 file old
    shift
    for file in "$@"; do
        old=$(sed -n 's/.*[[(]\([^])]*\)[])].*/\1/p;t;p' "$file" 2>/dev/null | head -n 1)
        if [ -z "$old" ]; then echo "not there: $file" >&2; continue; fi
        [ "$old" = "$value" ] && continue
        if { echo "$value" > "$file"; } 2>/dev/null; then
            echo "$file $old" >> "$saved"
            echo "$file: $old -> $value"
        else
            echo "cannot be changed: $file" >&2
        fi
    done
}
"#;

/// Bash script that puts faults right and can undo that; `None` if no remedy can be taken back.
pub fn fix_script(report: &CheckReport) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut steps = String::new();
    for check in report.faults() {
        for remedy in check.remedies.iter().filter(|remedy| remedy.kind == RemedyKind::Command) {
            let step = match &remedy.action {
                Action::Set { value, files } => format!("change {value} {files}\n"),
                Action::Sysctl { name, value } => {
                    format!("change {value} /proc/sys/{}\n", name.replace('.', "/"))
                }
                Action::Exact(_) | Action::Advice(_) => continue,
            };
            if seen.insert(step.clone()) {
                let status = if check.status == Status::Fail { "in the way" } else { "a warning" };
                // Names of programs may hold anything, also a line feed that would end the comment.
                let found = words::finding(check).replace(char::is_control, " ");
                steps += &format!("\n# {}, {status}: {found}\n{step}", words::title(check));
            }
        }
    }
    let cpus = cpus_text(&report.cpus);
    (!steps.is_empty()).then(|| {
        format!(
            "#!/bin/bash\n# What `jitterlab check` advises for now, for real-time tasks on {cpus}. It lasts until the next start;\n\
             # `sudo bash THIS-FILE undo` takes it back.\n{SCRIPT_FRAME}{steps}\necho \"done; take back with: sudo bash $0 undo\"\n"
        )
    })
}

//! Alarms: one for each cause and hour, which end by themselves.

use jitterlab_model::causes::{Cause, CauseClass};
use serde::Serialize;

/// Time after which an alarm is reported again, and without a start of its cause ends.
pub const HOUR_NS: i64 = 3_600_000_000_000;
/// Causes that have an alarm of their own at a time. A start that is later by a quarter than the least late of them takes
/// its place, so that many short-lived threads hide no hog; the others share one.
const MAX_ALARMS: usize = 64;

/// Causes that share an alarm or a series because there are too many of them.
pub fn other_causes() -> Cause {
    Cause { class: CauseClass::Mixed, who: Some("others".into()) }
}

/// A start above a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    pub task: String,
    /// Due time in Unix time.
    pub utc_ns: i64,
    /// Latency; for a limit of intervals, the period error.
    pub late_ns: i64,
    /// Due times missed with it.
    pub missed: u32,
    /// The purpose whose limit it breaks.
    pub purpose: &'static str,
    /// The limit, a time or a number.
    pub limit_ns: i64,
    /// Cause; `None` where it was not found.
    pub cause: Option<Cause>,
}

/// Content of an alarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    pub state: AlarmState,
    pub machine: String,
    pub task: String,
    pub purpose: String,
    pub limit_ns: i64,
    /// The cause; none where it was not found.
    #[serde(flatten)]
    pub cause: Option<Cause>,
    /// Largest latency of the alarm's starts.
    pub late_ns: i64,
    /// Due times missed with the alarm's starts.
    pub missed: u64,
    /// Starts since the alarm began.
    pub times: u64,
    /// First start of the alarm in Unix time.
    pub since_ns: i64,
    /// Last start of the alarm in Unix time.
    pub last_ns: i64,
    /// The alarm as a sentence.
    pub message: String,
}

/// Phase of an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlarmState {
    /// The alarm begins.
    Raised,
    /// The alarm has gone on for another hour.
    GoesOn,
    /// No start of its cause has come for an hour: the alarm ends.
    Cleared,
    /// An alarm of later starts has taken its place.
    Displaced,
}

#[derive(Debug)]
struct ActiveAlarm {
    notice: Notice,
    notified_ns: i64,
    last_ns: i64,
}

impl ActiveAlarm {
    /// Adds another start of the alarm's cause; returns a notice if the last one is an hour old.
    fn add_breach(&mut self, breach: &Breach, now_ns: i64) -> Option<Notice> {
        self.last_ns = now_ns;
        let notice = &mut self.notice;
        notice.times += 1;
        notice.missed += u64::from(breach.missed);
        notice.last_ns = breach.utc_ns;
        if breach.late_ns > notice.late_ns {
            (notice.late_ns, notice.limit_ns) = (breach.late_ns, breach.limit_ns);
            breach.purpose.clone_into(&mut notice.purpose);
        }
        if now_ns - self.notified_ns < HOUR_NS {
            return None;
        }
        (self.notified_ns, notice.state) = (now_ns, AlarmState::GoesOn);
        Some(notice.clone())
    }
}

#[derive(Debug, Default)]
pub struct Alarms {
    machine: String,
    active: Vec<ActiveAlarm>,
}

impl Alarms {
    /// No alarms, on this machine.
    pub fn new(machine: &str) -> Self {
        Alarms { machine: machine.into(), active: Vec::new() }
    }

    /// Adds a start above a limit; returns the notices to deliver. `now_ns` is on a clock that is not set.
    pub fn add_breach(&mut self, breach: &Breach, now_ns: i64) -> Vec<Notice> {
        if let Some(known) = self.find_active(&breach.task, breach.cause.as_ref()) {
            return known.add_breach(breach, now_ns).into_iter().collect();
        }
        let mut notices = Vec::new();
        if self.active.len() >= MAX_ALARMS {
            match self.least_late_index() {
                Some(least) if breach.late_ns / 5 * 4 >= self.active[least].notice.late_ns => {
                    let notice = self.active.remove(least).notice;
                    notices.push(Notice { state: AlarmState::Displaced, ..notice });
                }
                _ => {
                    let shared = Breach { cause: Some(other_causes()), ..breach.clone() };
                    match self.find_active(&breach.task, shared.cause.as_ref()) {
                        Some(known) => notices.extend(known.add_breach(&shared, now_ns)),
                        None => notices.push(self.raise_alarm(&shared, now_ns)),
                    }
                    return notices;
                }
            }
        }
        notices.push(self.raise_alarm(breach, now_ns));
        notices
    }

    fn find_active(&mut self, task: &str, cause: Option<&Cause>) -> Option<&mut ActiveAlarm> {
        self.active
            .iter_mut()
            .find(|active| active.notice.task == task && active.notice.cause.as_ref() == cause)
    }

    /// Index of the alarm whose largest latency is the least; `None` without one. That for other causes is
    /// left out.
    fn least_late_index(&self) -> Option<usize> {
        let others = other_causes();
        let own = self.active.iter().enumerate();
        let own = own.filter(|(_, active)| active.notice.cause.as_ref() != Some(&others));
        own.min_by_key(|(_, active)| active.notice.late_ns).map(|(number, _)| number)
    }

    fn raise_alarm(&mut self, breach: &Breach, now_ns: i64) -> Notice {
        let notice = self.first_notice(breach);
        self.active.push(ActiveAlarm { notice: notice.clone(), notified_ns: now_ns, last_ns: now_ns });
        notice
    }

    fn first_notice(&self, breach: &Breach) -> Notice {
        Notice {
            state: AlarmState::Raised,
            machine: self.machine.clone(),
            task: breach.task.clone(),
            purpose: breach.purpose.into(),
            limit_ns: breach.limit_ns,
            cause: breach.cause.clone(),
            late_ns: breach.late_ns,
            missed: u64::from(breach.missed),
            times: 1,
            since_ns: breach.utc_ns,
            last_ns: breach.utc_ns,
            message: String::new(),
        }
    }

    /// Ends alarms without a start for an hour; returns their notices.
    pub fn clear_ended(&mut self, now_ns: i64) -> Vec<Notice> {
        let is_over = |active: &ActiveAlarm| now_ns - active.last_ns >= HOUR_NS;
        let mut ended = Vec::new();
        self.active.retain(|active| {
            if is_over(active) {
                ended.push(Notice { state: AlarmState::Cleared, ..active.notice.clone() });
            }
            !is_over(active)
        });
        ended
    }

    /// Notices of the alarms that have not ended.
    pub fn active_notices(&self) -> impl Iterator<Item = &Notice> {
        self.active.iter().map(|active| &active.notice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breach(who: &str, at_ns: i64) -> Breach {
        Breach {
            task: "servo".into(),
            utc_ns: at_ns,
            late_ns: 600_000,
            missed: 0,
            purpose: "servo-thread",
            limit_ns: 500_000,
            cause: Some(Cause { class: CauseClass::Preempted, who: Some(who.into()) }),
        }
    }

    #[test]
    fn one_alarm_for_each_cause_and_hour_and_it_ends_by_itself() {
        let mut alarms = Alarms::new("cnc-07");
        let minute = HOUR_NS / 60;
        let mut notices = Vec::new();
        for k in 0..90 {
            notices.extend(
                alarms
                    .add_breach(&breach("hog", k * minute), k * minute)
                    .iter()
                    .map(|notice| (k, notice.state)),
            );
            assert!(alarms.clear_ended(k * minute).is_empty());
        }
        assert_eq!(notices, [(0, AlarmState::Raised), (60, AlarmState::GoesOn)]);
        assert_eq!(alarms.add_breach(&breach("eth0", 90 * minute), 90 * minute)[0].state, AlarmState::Raised);
        assert_eq!(alarms.clear_ended(148 * minute), []);
        let ended = alarms.clear_ended(149 * minute);
        assert_eq!((ended[0].state, ended[0].times), (AlarmState::Cleared, 90));
        assert_eq!(alarms.active_notices().count(), 1);
    }

    #[test]
    fn a_thousand_causes_are_no_thousand_alarms() {
        let mut alarms = Alarms::new("cnc-07");
        let mut notices: Vec<Notice> =
            (0..1_000).flat_map(|k| alarms.add_breach(&breach(&format!("thread-{k}"), k), k)).collect();
        assert_eq!(notices.len(), MAX_ALARMS + 1);
        assert_eq!(notices.pop().unwrap().cause, Some(other_causes()));
        // A hog is told of all the same, and what it takes the place of is no longer on.
        let hog = Breach { late_ns: 4_000_000, ..breach("hog", 1_001) };
        let notices = alarms.add_breach(&hog, 1_001);
        assert_eq!([notices[0].state, notices[1].state], [AlarmState::Displaced, AlarmState::Raised]);
        assert_eq!(notices[1].cause, hog.cause);
        assert!(alarms.active_notices().all(|notice| notice.cause != notices[0].cause));
        assert_eq!(alarms.active_notices().count(), MAX_ALARMS + 1);
    }
}

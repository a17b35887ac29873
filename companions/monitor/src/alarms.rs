//! Alarms: one for each cause and hour, which end by themselves.

use jitterlab_model::causes::{Cause, CauseClass};
use serde::Serialize;

/// An alarm is told again after this time, and ends after as long without.
pub const HOUR_NS: i64 = 3_600_000_000_000;
/// Causes that have an alarm of their own at a time. A start that is later by a quarter than the least late of them takes
/// its place, so that many short-lived threads hide no hog; the others share one.
const MOST: usize = 64;

/// Causes that share an alarm or a series because there are too many of them.
pub fn others() -> Cause {
    Cause { class: CauseClass::Mixed, who: Some("others".into()) }
}

/// A start above a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    pub task: String,
    /// When, in Unix time.
    pub utc_ns: i64,
    /// Latency; for a limit of intervals, the period error.
    pub late_ns: i64,
    /// Due times missed with it.
    pub missed: u32,
    /// The purpose whose limit it breaks.
    pub purpose: &'static str,
    /// The limit, a time or a number.
    pub limit_ns: i64,
    /// Why, where that was found.
    pub cause: Option<Cause>,
}

/// Content of an alarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// Whether it begins, goes on for another hour or has ended.
    pub state: State,
    pub machine: String,
    pub task: String,
    pub purpose: String,
    pub limit_ns: i64,
    /// The cause; none where it was not found.
    #[serde(flatten)]
    pub cause: Option<Cause>,
    /// The latest of its starts.
    pub late_ns: i64,
    /// Due times missed with its starts.
    pub missed: u64,
    /// Starts since it began.
    pub times: u64,
    /// First and last of its starts, in Unix time.
    pub since_ns: i64,
    /// See `since_ns`.
    pub last_ns: i64,
    /// The same as a sentence.
    pub message: String,
}

/// Where an alarm is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Its first start.
    Raised,
    /// It has gone on for another hour.
    GoesOn,
    /// No such start for an hour.
    Cleared,
    /// An alarm of later starts has taken its place.
    Displaced,
}

#[derive(Debug)]
struct Active {
    notice: Notice,
    told_ns: i64,
    last_ns: i64,
}

impl Active {
    /// Takes another start of its cause; returns a notice if the last one is an hour old.
    fn again(&mut self, breach: &Breach, now_ns: i64) -> Option<Notice> {
        self.last_ns = now_ns;
        let notice = &mut self.notice;
        notice.times += 1;
        notice.missed += u64::from(breach.missed);
        notice.last_ns = breach.utc_ns;
        if breach.late_ns > notice.late_ns {
            (notice.late_ns, notice.limit_ns) = (breach.late_ns, breach.limit_ns);
            breach.purpose.clone_into(&mut notice.purpose);
        }
        if now_ns - self.told_ns < HOUR_NS {
            return None;
        }
        (self.told_ns, notice.state) = (now_ns, State::GoesOn);
        Some(notice.clone())
    }
}

#[derive(Debug, Default)]
pub struct Alarms {
    machine: String,
    active: Vec<Active>,
}

impl Alarms {
    /// None yet, on this machine.
    pub fn new(machine: &str) -> Self {
        Alarms { machine: machine.into(), active: Vec::new() }
    }

    /// Takes a start above a limit and returns what is to be told of it. `now_ns` is on a clock that is not set.
    pub fn breach(&mut self, breach: &Breach, now_ns: i64) -> Vec<Notice> {
        if let Some(known) = self.find(&breach.task, breach.cause.as_ref()) {
            return known.again(breach, now_ns).into_iter().collect();
        }
        let mut notices = Vec::new();
        if self.active.len() >= MOST {
            match self.least_late() {
                Some(least) if breach.late_ns / 5 * 4 >= self.active[least].notice.late_ns => {
                    let notice = self.active.remove(least).notice;
                    notices.push(Notice { state: State::Displaced, ..notice });
                }
                _ => {
                    let shared = Breach { cause: Some(others()), ..breach.clone() };
                    match self.find(&breach.task, shared.cause.as_ref()) {
                        Some(known) => notices.extend(known.again(&shared, now_ns)),
                        None => notices.push(self.raise(&shared, now_ns)),
                    }
                    return notices;
                }
            }
        }
        notices.push(self.raise(breach, now_ns));
        notices
    }

    fn find(&mut self, task: &str, cause: Option<&Cause>) -> Option<&mut Active> {
        self.active
            .iter_mut()
            .find(|active| active.notice.task == task && active.notice.cause.as_ref() == cause)
    }

    /// The alarm of a cause of its own whose worst start is the least late.
    fn least_late(&self) -> Option<usize> {
        let others = others();
        let own = self.active.iter().enumerate();
        let own = own.filter(|(_, active)| active.notice.cause.as_ref() != Some(&others));
        own.min_by_key(|(_, active)| active.notice.late_ns).map(|(number, _)| number)
    }

    fn raise(&mut self, breach: &Breach, now_ns: i64) -> Notice {
        let notice = self.first(breach);
        self.active.push(Active { notice: notice.clone(), told_ns: now_ns, last_ns: now_ns });
        notice
    }

    fn first(&self, breach: &Breach) -> Notice {
        Notice {
            state: State::Raised,
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

    /// Ends alarms without a start for an hour.
    pub fn tick(&mut self, now_ns: i64) -> Vec<Notice> {
        let is_over = |active: &Active| now_ns - active.last_ns >= HOUR_NS;
        let mut ended = Vec::new();
        self.active.retain(|active| {
            if is_over(active) {
                ended.push(Notice { state: State::Cleared, ..active.notice.clone() });
            }
            !is_over(active)
        });
        ended
    }

    /// Alarms that are on.
    pub fn active(&self) -> impl Iterator<Item = &Notice> {
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
                alarms.breach(&breach("hog", k * minute), k * minute).iter().map(|notice| (k, notice.state)),
            );
            assert!(alarms.tick(k * minute).is_empty());
        }
        assert_eq!(notices, [(0, State::Raised), (60, State::GoesOn)]);
        assert_eq!(alarms.breach(&breach("eth0", 90 * minute), 90 * minute)[0].state, State::Raised);
        assert_eq!(alarms.tick(148 * minute), []);
        let ended = alarms.tick(149 * minute);
        assert_eq!((ended[0].state, ended[0].times), (State::Cleared, 90));
        assert_eq!(alarms.active().count(), 1);
    }

    #[test]
    fn a_thousand_causes_are_no_thousand_alarms() {
        let mut alarms = Alarms::new("cnc-07");
        let mut notices: Vec<Notice> =
            (0..1_000).flat_map(|k| alarms.breach(&breach(&format!("thread-{k}"), k), k)).collect();
        assert_eq!(notices.len(), MOST + 1);
        assert_eq!(notices.pop().unwrap().cause, Some(others()));
        // A hog is told of all the same, and what it takes the place of is no longer on.
        let hog = Breach { late_ns: 4_000_000, ..breach("hog", 1_001) };
        let notices = alarms.breach(&hog, 1_001);
        assert_eq!([notices[0].state, notices[1].state], [State::Displaced, State::Raised]);
        assert_eq!(notices[1].cause, hog.cause);
        assert!(alarms.active().all(|notice| notice.cause != notices[0].cause));
        assert_eq!(alarms.active().count(), MOST + 1);
    }
}

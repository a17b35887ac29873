//! Days and months (UTC) of seconds of the Unix epoch.

use std::time::{Duration, UNIX_EPOCH};

/// Length of a day.
pub const DAY_S: i64 = 86_400;
/// Length of a shift, the unit of late starts.
pub const SHIFT_S: i64 = 28_800;

/// The day of a time, `2026-11-26`.
pub fn day_name(at_s: i64) -> String {
    let since = Duration::from_secs(u64::try_from(at_s).unwrap_or_default());
    let time = humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string();
    time.chars().take(10).collect()
}

/// The month of a time, `2026-11`.
pub fn month_name(at_s: i64) -> String {
    day_name(at_s).chars().take(7).collect()
}

/// Beginning of a day such as `2026-11-26`, in seconds of the Unix epoch; `None` if it is no date.
pub fn day_start_s(day: &str) -> Option<i64> {
    let time = humantime::parse_rfc3339_weak(&format!("{day} 00:00:00")).ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
}

/// Name, beginning and end of each month from one time to another.
pub fn months(first_s: i64, last_s: i64) -> Vec<(String, i64, i64)> {
    let start = |at_s: i64| day_start_s(&format!("{}-01", month_name(at_s)));
    let of = |from_s: i64| Some((month_name(from_s), from_s, start(from_s + 31 * DAY_S)?));
    let next = |(_, _, to_s): &(String, i64, i64)| of(*to_s).filter(|next| next.1 <= last_s);
    std::iter::successors(start(first_s).and_then(of), next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_follow_each_other() {
        let found = months(
            day_start_s("2027-11-30").unwrap_or_default(),
            day_start_s("2028-03-01").unwrap_or_default(),
        );
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["2027-11", "2027-12", "2028-01", "2028-02", "2028-03"]);
        assert!(found.windows(2).all(|pair| pair[0].2 == pair[1].1));
        assert_eq!((found[3].2 - found[3].1) / DAY_S, 29);
    }
}

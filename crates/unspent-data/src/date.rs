//! The civil date and time, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, as in `2020-04-01T12:00:00Z`.
#[must_use]
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    timestamp(seconds)
}

/// Today, as in `2020-04-01`.
#[must_use]
pub fn today() -> String {
    now().chars().take(10).collect()
}

fn timestamp(seconds: u64) -> String {
    let (mut days, time) = (seconds / 86_400, seconds % 86_400);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60);
    format!("{year:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_the_civil_date() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(timestamp(1_585_742_400 + 3_661), "2020-04-01T13:01:01Z");
        assert_eq!(timestamp(4_107_542_399), "2100-02-28T23:59:59Z");
        assert_eq!(timestamp(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}

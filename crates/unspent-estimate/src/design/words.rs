//! Numbers in messages.

/// A number of some digits, as it is read.
pub(super) fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (5 - pxfm::f_log10(value.abs()).floor() as i32 - 1).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// A part of 1 as a percentage.
pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

//! Which texts are dates, durations and cycles of ISO 8601. What they mean is the kernel's matter.

/// Whether it is a date with a time of day, or a date alone.
pub(crate) fn is_date_time(text: &str) -> bool {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    is_date(date) && time.is_none_or(is_time)
}

/// Whether it is a duration, such as `P1DT12H`.
pub(crate) fn is_duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('-').unwrap_or(text).strip_prefix('P') else {
        return false;
    };
    if let Some(weeks) = rest.strip_suffix('W') {
        return is_digits(weeks);
    }
    let (date, time) = match rest.split_once('T') {
        Some((date, time)) if !time.is_empty() => (date, time),
        Some(_) => return false,
        None => (rest, ""),
    };
    !rest.is_empty() && are_parts(date, "YMWD", false) && are_parts(time, "HMS", true)
}

/// Whether it is a repetition, such as `R3/PT10M`, with a start or an end where wanted, or a
/// duration alone, which repeats for ever.
pub(crate) fn is_cycle(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('R') else { return is_duration(text) };
    let Some((count, interval)) = rest.split_once('/') else { return false };
    if !(count.is_empty() || count == "-1" || is_digits(count)) {
        return false;
    }
    match interval.split_once('/') {
        Some((start, end)) => {
            (is_date_time(start) && (is_duration(end) || is_date_time(end)))
                || (is_duration(start) && is_date_time(end))
        }
        None => is_duration(interval),
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    match parts[..] {
        [year, month, day] => {
            year.len() == 4 && is_digits(year) && in_range(month, 1, 12) && in_range(day, 1, 31)
        }
        _ => false,
    }
}

fn is_time(text: &str) -> bool {
    let (clock, zone) = match text.find(['Z', '+', '-']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let parts: Vec<_> = clock.split(':').collect();
    let clock = match parts[..] {
        [hour, minute] => in_range(hour, 0, 24) && in_range(minute, 0, 59),
        [hour, minute, second] => {
            let (second, fraction) = second.split_once(['.', ',']).unwrap_or((second, "0"));
            in_range(hour, 0, 24)
                && in_range(minute, 0, 59)
                && in_range(second, 0, 60)
                && is_digits(fraction)
        }
        _ => false,
    };
    clock && is_zone(zone)
}

fn is_zone(text: &str) -> bool {
    let Some(offset) = text.strip_prefix(['+', '-']) else { return text.is_empty() || text == "Z" };
    match offset.split_once(':') {
        Some((hour, minute)) => in_range(hour, 0, 23) && in_range(minute, 0, 59),
        None if offset.len() == 4 && offset.is_ascii() => {
            in_range(&offset[..2], 0, 23) && in_range(&offset[2..], 0, 59)
        }
        None => in_range(offset, 0, 23),
    }
}

/// Whether it is numbers followed by these letters, each at most once and in this order.
fn are_parts(mut text: &str, letters: &str, fraction: bool) -> bool {
    let mut letters = letters.chars();
    while !text.is_empty() {
        let end = text.find(|it: char| !it.is_ascii_digit() && it != '.' && it != ',');
        let Some(end) = end else { return false };
        let (number, rest) = text.split_at(end);
        let mut rest = rest.chars();
        let letter = rest.next();
        if !letters.any(|it| Some(it) == letter) {
            return false;
        }
        let (whole, part) = number.split_once(['.', ',']).unwrap_or((number, "0"));
        if !is_digits(whole) || !is_digits(part) || (whole.len() != number.len() && !fraction) {
            return false;
        }
        text = rest.as_str();
    }
    true
}

fn in_range(text: &str, min: u32, max: u32) -> bool {
    text.len() == 2 && is_digits(text) && text.parse().is_ok_and(|it| (min..=max).contains(&it))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_told_from_other_texts() {
        for text in ["2030-01-31T12:00:00Z", "2030-01-31", "2030-01-31T12:00:00.5+01:00"] {
            assert!(is_date_time(text), "{text}");
        }
        for text in ["", "soon", "2030-13-01", "2030-01-31T", "2030-01-31T25:00", "PT1S"] {
            assert!(!is_date_time(text), "{text}");
        }
    }

    #[test]
    fn durations_are_told_from_other_texts() {
        for text in ["PT15M", "P1DT12H", "P2W", "P1Y2M3DT4H5M6.7S", "PT0S", "PT0.5S"] {
            assert!(is_duration(text), "{text}");
        }
        for text in ["", "P", "PT", "15M", "P1H", "PT1H1H", "PT1", "PTM", "P1.5D"] {
            assert!(!is_duration(text), "{text}");
        }
    }

    #[test]
    fn cycles_are_told_from_other_texts() {
        for text in ["R3/PT10M", "R/PT1S", "R2/2030-01-31T12:00:00Z/P1D", "PT1M"] {
            assert!(is_cycle(text), "{text}");
        }
        for text in ["", "R", "R3", "3/PT10M", "Rx/PT1S", "R3/soon"] {
            assert!(!is_cycle(text), "{text}");
        }
    }
}

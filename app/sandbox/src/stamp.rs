//! Times as the API writes them: `2026-01-31T12:00:00Z`.

/// The time in words; milliseconds since 1970.
pub(crate) fn written(ms: u64) -> String {
    let seconds = ms / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// The time as headers have it: `Sat, 31 Jan 2026 12:00:00 GMT`.
pub(crate) fn http(ms: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (days, second) = (ms / 86_400_000, ms / 1000 % 86_400);
    let (year, month, day) = civil(days);
    let name = |names: &[&'static str], at: u64| names.get(usize::try_from(at).unwrap_or(0)).copied().unwrap_or("");
    let (weekday, month) = (name(&DAYS, days % 7), name(&MONTHS, month.saturating_sub(1)));
    format!("{weekday}, {day:02} {month} {year:04} {:02}:{:02}:{:02} GMT", second / 3600, second / 60 % 60, second % 60)
}

/// Milliseconds since 1970 of a time in words, in UTC.
pub(crate) fn read(text: &str) -> Option<u64> {
    let (date, clock) = text.trim().split_once('T')?;
    let clock = clock.strip_suffix('Z').or_else(|| clock.strip_suffix("+00:00"))?;
    let number = |part: Option<&str>| part?.parse::<u64>().ok();
    let mut date = date.split('-');
    let (year, month, day) = (number(date.next())?, number(date.next())?, number(date.next())?);
    let mut clock = clock.split(':');
    let (hour, minute) = (number(clock.next())?, number(clock.next())?);
    let second = clock.next()?.split('.').next()?.parse::<u64>().ok()?;
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    Some((((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1000)
}

/// Year, month and day of a day since 1970 (the algorithm of Howard Hinnant).
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let doe = z % 146_097;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + u64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

/// The day since 1970; the year is 1970 or later.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let y = year - u64::from(month <= 2);
    let (era, yoe) = (y / 400, y % 400);
    let doy = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
}

#[cfg(test)]
mod tests {
    use super::{http, read, written};

    #[test]
    fn headers() {
        assert_eq!(http(784_111_777_000), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(http(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    }

    #[test]
    fn there_and_back() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59Z"),
            (1_772_323_200_000, "2026-03-01T00:00:00Z"),
        ] {
            assert_eq!(written(ms), text);
            assert_eq!(read(text), Some(ms), "{text}");
        }
        assert_eq!(read("2024-12-31T23:59:59.123+00:00"), Some(1_735_689_599_000));
        for odd in ["", "2024", "2024-13-01T00:00:00Z", "2024-12-31T23:59:59+02:00", "x-y-zTa:b:cZ"] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }
}

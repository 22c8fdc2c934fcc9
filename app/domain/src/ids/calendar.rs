//! Dates and times of day as digits.

/// Whether `date` (yyyymmdd) is a day of the Gregorian calendar from 1970 on.
pub(super) fn is_date(date: &str) -> bool {
    let (Some(year), Some(month), Some(day)) = (number(date, 0, 4), number(date, 4, 2), number(date, 6, 2)) else {
        return false;
    };
    date.len() == 8 && year >= 1970 && (1..=12).contains(&month) && (1..=days(year, month)).contains(&day)
}

/// Whether `time` (hhmmss) is a second of a day.
pub(super) fn is_time(time: &str) -> bool {
    let parts = [number(time, 0, 2), number(time, 2, 2), number(time, 4, 2)];
    time.len() == 6 && matches!(parts, [Some(0..=23), Some(0..=59), Some(0..=59)])
}

/// Whether `text` is `length` lowercase hexadecimal digits.
pub(super) fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Date (yyyymmdd) and time (hhmmss) of a Unix time, by the days-from-civil arithmetic of H. Hinnant.
pub(super) fn of_unix(seconds: u64) -> (String, String) {
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    let shifted = day + 719_468;
    let era_day = shifted % 146_097;
    let era_year = (era_day - era_day / 1_460 + era_day / 36_524 - era_day / 146_096) / 365;
    let year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
    let from_march = (5 * year_day + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era_year + shifted / 146_097 * 400 + u64::from(month <= 2);
    let date = format!("{year:04}{month:02}{:02}", year_day - (153 * from_march + 2) / 5 + 1);
    (date, format!("{:02}{:02}{:02}", second / 3600, second / 60 % 60, second % 60))
}

fn number(text: &str, from: usize, length: usize) -> Option<u32> {
    let digits = text.get(from..from + length)?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leap_years() {
        for (date, is) in [
            ("20240229", true),
            ("20260229", false),
            ("20000229", true),
            ("21000229", false),
            ("20261131", false),
            ("20261301", false),
            ("20260001", false),
            ("19691231", false),
            ("2026١١29", false),
        ] {
            assert_eq!(is_date(date), is, "{date}");
        }
        assert!(is_time("235959") && !is_time("240000") && !is_time("236000") && !is_time("235960"));
    }

    #[test]
    fn unix_times() {
        for (seconds, date, time) in [
            (0, "19700101", "000000"),
            (951_782_400, "20000229", "000000"),
            (1_709_251_199, "20240229", "235959"),
            (1_795_984_130, "20261129", "202850"),
            (4_107_542_400, "21000301", "000000"),
        ] {
            assert_eq!(of_unix(seconds), (date.to_owned(), time.to_owned()));
        }
    }
}

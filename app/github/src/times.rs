//! Points in time as GitHub writes them.

/// Unix seconds of an RFC 3339 time such as `2026-11-30T05:28:05Z`, with any fraction and offset.
pub(crate) fn from_rfc3339(text: &str) -> Option<u64> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    if !matches!(rest.as_bytes().first()?, b'T' | b't' | b' ') {
        return None;
    }
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (clock, rest) = (rest.get(1..9)?, rest.get(9..)?);
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let offset = match rest {
        "Z" | "z" => 0,
        _ => {
            let sign = match rest.get(..1)? {
                "+" => 1,
                "-" => -1,
                _ => return None,
            };
            let (hours, minutes) = rest.get(1..)?.split_once(':')?;
            sign * i64::from(number(hours)? * 60 + number(minutes)?) * 60
        }
    };
    let unix = days(number(year)?, number(month)?, number(day)?)? * 86_400 + second(clock)?;
    u64::try_from(i64::try_from(unix).ok()? - offset).ok()
}

/// Unix seconds of an HTTP date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn from_http(text: &str) -> Option<u64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut parts = text.split_once(", ")?.1.split(' ');
    let (day, month, year, clock) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if parts.next() != Some("GMT") || month.len() != 3 {
        return None;
    }
    let month = u32::try_from(MONTHS.find(month)? / 3 + 1).ok()?;
    Some(days(number(year)?, month, number(day)?)? * 86_400 + second(clock)?)
}

/// An RFC 3339 time in UTC, to the second, of Unix milliseconds.
pub(crate) fn to_rfc3339(ms: u64) -> String {
    let (day, second) = (ms / 86_400_000, ms / 1000 % 86_400);
    // civil-from-days of H. Hinnant.
    let shifted = day + 719_468;
    let era_day = shifted % 146_097;
    let era_year = (era_day - era_day / 1_460 + era_day / 36_524 - era_day / 146_096) / 365;
    let year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
    let from_march = (5 * year_day + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era_year + shifted / 146_097 * 400 + u64::from(month <= 2);
    let day = year_day - (153 * from_march + 2) / 5 + 1;
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// Days since 1970: days-from-civil of H. Hinnant.
fn days(year: u32, month: u32, day: u32) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = u64::from(year) - u64::from(month <= 2);
    let (era, era_year) = (year / 400, year % 400);
    let from_march = u64::from((month + 9) % 12);
    let year_day = (153 * from_march + 2) / 5 + u64::from(day) - 1;
    let era_day = era_year * 365 + era_year / 4 - era_year / 100 + year_day;
    (era * 146_097 + era_day).checked_sub(719_468)
}

/// The second of the day of `hh:mm:ss`. A leap second counts as the one after it.
fn second(clock: &str) -> Option<u64> {
    let mut parts = clock.split(':');
    let (hour, minute, second) = (number(parts.next()?)?, number(parts.next()?)?, number(parts.next()?)?);
    (parts.next().is_none() && hour < 24 && minute < 60 && second <= 60)
        .then(|| u64::from(hour * 3600 + minute * 60 + second))
}

fn number(text: &str) -> Option<u32> {
    (!text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_as_written() {
        for (text, unix) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600)),
            ("2026-11-30T05:28:05.123Z", Some(1_796_016_485)),
            ("2026-11-30T06:28:05+01:00", Some(1_796_016_485)),
            ("2026-11-29T23:58:05-05:30", Some(1_796_016_485)),
            ("2026-11-30", None),
            ("2026-13-30T05:28:05Z", None),
            ("2026-11-30T25:28:05Z", None),
            ("2026-11-30T05:28:05", None),
            ("é026-11-30T05:28:05Z", None),
            ("", None),
        ] {
            assert_eq!(from_rfc3339(text), unix, "{text}");
        }
        for (text, unix) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Mon, 30 Nov 2026 05:28:05 GMT", Some(1_796_016_485)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("Mon, 30 Nov 2026 05:28:05 CET", None),
            ("yesterday", None),
        ] {
            assert_eq!(from_http(text), unix, "{text}");
        }
    }

    proptest! {
        #[test]
        fn written_and_read_back(second in 0u64..253_402_300_799) {
            prop_assert_eq!(from_rfc3339(&to_rfc3339(second * 1000 + 7)), Some(second));
        }

        #[test]
        fn any_text_is_read_or_not(text in "\\PC{0,40}") {
            let _ = (from_rfc3339(&text), from_http(&text));
        }
    }
}

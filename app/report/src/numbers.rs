//! Numbers as people read them: always with a unit, never `NaN` or `inf`. The minus sign is U+2212; a space stands
//! before every unit.

/// Minus.
pub const MINUS: char = '−';
/// Ratios beyond this, and below its inverse, are told as factors.
const FACTOR: f64 = 5.0;

/// A whole number with separators: `12,345`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `x` with `decimals`, a real minus sign, separators, and no negative zero.
fn decimal(x: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", x.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    let zero = text.chars().all(|c| c == '0' || c == '.');
    let sign = if x < 0.0 && !zero { "−" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// A number of four significant digits, in powers of ten where it is huge.
fn four(x: f64) -> String {
    let size = x.abs();
    if !x.is_finite() {
        "unknown".to_owned()
    } else if size >= 1e9 || (size > 0.0 && size < 1e-3) {
        let text = format!("{size:.1e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{}{digits} × 10^{power}", if x < 0.0 { "−" } else { "" })
    } else if size >= 1000.0 {
        decimal(x, 0)
    } else if size >= 100.0 {
        decimal(x, 1)
    } else if size >= 10.0 {
        decimal(x, 2)
    } else {
        decimal(x, 3)
    }
}

/// A factor above 1: `28.7`.
fn factor(x: f64) -> String {
    if x >= 1e15 {
        "10^15 or more".to_owned()
    } else if x >= 1e6 {
        let text = format!("{x:.1e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{digits} × 10^{power}")
    } else if x >= 1000.0 {
        decimal(x, 0)
    } else {
        decimal(x, 1)
    }
}

/// A change with its sign: `+3.1 %`, `−12.0 %`, `×28.7`, `÷28.7`. `ratio` is treatment over control.
#[must_use]
pub fn change(ratio: f64) -> String {
    change_with(ratio, 1)
}

fn change_with(ratio: f64, decimals: usize) -> String {
    if !ratio.is_finite() || ratio <= 0.0 {
        "unknown".to_owned()
    } else if ratio >= FACTOR {
        format!("×{}", factor(ratio))
    } else if ratio <= 1.0 / FACTOR {
        format!("÷{}", factor(1.0 / ratio))
    } else {
        format!("{} %", signed(100.0 * (ratio - 1.0), decimals))
    }
}

/// `+3.1`, `−3.1`, `0.0`.
fn signed(x: f64, decimals: usize) -> String {
    let text = decimal(x, decimals);
    let zero = text.chars().all(|c| c == '0' || c == '.');
    if x > 0.0 && !zero { format!("+{text}") } else { text }
}

/// A change with its interval: `+3.1 % ±0.9`, or `+45.0 % (+20.1 to +75.3 %)` where the interval is not even.
/// All three are ratios treatment over control.
#[must_use]
pub fn interval(ratio: f64, lo: f64, hi: f64) -> String {
    if !(lo.is_finite() && hi.is_finite()) || lo <= 0.0 {
        return change(ratio);
    }
    if is_factor(ratio) || is_factor(lo) || is_factor(hi) {
        return format!("{} ({} to {})", change(ratio), as_factor(lo), as_factor(hi));
    }
    let (down, up) = (100.0 * (ratio - lo), 100.0 * (hi - ratio));
    let half = f64::midpoint(down, up);
    let decimals = if half < 0.095 { 2 } else { 1 };
    if (up - down).abs() <= 0.25 * half + 0.05 {
        return format!("{} ±{}", change_with(ratio, decimals), decimal(half, decimals));
    }
    let ends = [lo, hi].map(|x| signed(100.0 * (x - 1.0), decimals));
    format!("{} ({} to {} %)", change_with(ratio, decimals), ends[0], ends[1])
}

/// `×1.2`, `÷1.2`, however small the change.
fn as_factor(ratio: f64) -> String {
    if ratio >= 1.0 { format!("×{}", factor(ratio)) } else { format!("÷{}", factor(1.0 / ratio)) }
}

fn is_factor(ratio: f64) -> bool {
    ratio >= FACTOR || ratio <= 1.0 / FACTOR
}

/// A size without a sign from the log scale: `5 %`, `16.6 %`, `×12.5`; `None` where it is not a number.
#[must_use]
pub fn size(log: f64) -> Option<String> {
    let ratio = log.exp();
    if !ratio.is_finite() || log < 0.0 {
        return None;
    }
    if ratio >= FACTOR {
        return Some(format!("×{}", factor(ratio)));
    }
    let text = decimal(100.0 * (ratio - 1.0), 1);
    Some(format!("{} %", text.strip_suffix(".0").unwrap_or(&text)))
}

/// A share: `5 %`, `0.5 %`.
#[must_use]
pub fn share(x: f64) -> String {
    let text = decimal(100.0 * x, 1);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// A pair of times in one unit, so that they can be compared by eye: seconds, from 100,000 s on hours.
#[must_use]
pub fn seconds_pair(pair: [Option<f64>; 2]) -> [Option<String>; 2] {
    let most = pair.iter().flatten().copied().fold(0.0, f64::max);
    let (divisor, unit) = if most >= 100_000.0 { (3600.0, "h") } else { (1.0, "s") };
    pair.map(|x| x.filter(|x| x.is_finite()).map(|x| format!("{} {unit}", short(x / divisor))))
}

/// A time: `12.30 s`, `27.78 h`.
#[must_use]
pub fn seconds(x: f64) -> String {
    let [text, _] = seconds_pair([Some(x), None]);
    text.unwrap_or_else(|| "unknown".to_owned())
}

/// Four significant digits, but a plain 0.
fn short(x: f64) -> String {
    if x == 0.0 { "0".to_owned() } else { four(x) }
}

/// Three significant digits: memory is sampled, more digits would say nothing.
fn three(x: f64) -> String {
    match x {
        0.0 => "0".to_owned(),
        x if !(1e-2..1e9).contains(&x) => four(x),
        x if x >= 100.0 => decimal(x, 0),
        x if x >= 10.0 => decimal(x, 1),
        x => decimal(x, 2),
    }
}

/// A duration for the timeline: `2 h 54 min`, `28 min`, `12 s`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "unknown".to_owned();
    }
    if seconds < 60.0 {
        return format!("{} s", decimal(seconds, 0));
    }
    let minutes = (seconds / 60.0).round();
    if minutes < 60.0 {
        return format!("{} min", decimal(minutes, 0));
    }
    let (hours, rest) = ((minutes / 60.0).floor(), minutes % 60.0);
    if rest == 0.0 {
        format!("{} h", decimal(hours, 0))
    } else {
        format!("{} h {} min", decimal(hours, 0), decimal(rest, 0))
    }
}

const MIB: f64 = 1024.0 * 1024.0;
const GIB: f64 = 1024.0 * MIB;

/// Memory: `1.20 GiB`, `512 MiB`.
#[must_use]
pub fn bytes(x: f64) -> String {
    bytes_in(x, x)
}

/// `x` in the unit that fits `most`.
fn bytes_in(x: f64, most: f64) -> String {
    if most >= GIB { format!("{} GiB", three(x / GIB)) } else { format!("{} MiB", three(x / MIB)) }
}

/// Peak memory of control and treatment with the change: `1.20 → 1.25 GiB (+4.2 %)`.
#[must_use]
pub fn memory(pair: [Option<f64>; 2]) -> Option<String> {
    let most = pair.iter().flatten().copied().fold(0.0, f64::max);
    match pair.map(|x| x.filter(|x| x.is_finite())) {
        [Some(c), Some(t)] => {
            let from = bytes_in(c, most);
            let from = from.rsplit_once(' ').map_or(from.as_str(), |(number, _)| number);
            let by = if c > 0.0 && t > 0.0 { format!(" ({})", change(t / c)) } else { String::new() };
            Some(format!("{from} → {}{by}", bytes_in(t, most)))
        }
        [Some(c), None] => Some(format!("{} → unknown", bytes_in(c, most))),
        [None, Some(t)] => Some(format!("unknown → {}", bytes_in(t, most))),
        [None, None] => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changes() {
        for (ratio, expected) in [
            (1.031, "+3.1 %"),
            (0.988, "−1.2 %"),
            (0.99999, "0.0 %"),
            (1.0, "0.0 %"),
            (28.72, "×28.7"),
            (1.0 / 28.72, "÷28.7"),
            (1.4, "+40.0 %"),
            (4.5, "+350.0 %"),
            (1e9, "×1.0 × 10^9"),
            (0.0, "unknown"),
            (f64::NAN, "unknown"),
        ] {
            assert_eq!(change(ratio), expected);
        }
    }

    #[test]
    fn intervals() {
        assert_eq!(interval(1.031, 1.022, 1.04), "+3.1 % ±0.9");
        assert_eq!(interval(1.0, 1.0, 1.0), "0.00 % ±0.00");
        assert_eq!(interval(1.45, 1.2, 1.754), "+45.0 % ±27.7");
        assert_eq!(interval(1.45, 1.3, 1.9), "+45.0 % (+30.0 to +90.0 %)");
        assert_eq!(interval(28.7, 25.1, 32.6), "×28.7 (×25.1 to ×32.6)");
        assert_eq!(interval(1.0, 0.1, 10.0), "0.0 % (÷10.0 to ×10.0)");
        assert_eq!(interval(1.031, f64::NAN, f64::INFINITY), "+3.1 %");
    }

    #[test]
    fn sizes_times_and_memory() {
        assert_eq!(size(1.05f64.ln()).as_deref(), Some("5 %"));
        assert_eq!(size(1.166f64.ln()).as_deref(), Some("16.6 %"));
        assert_eq!(size(f64::INFINITY), None);
        assert_eq!(seconds_pair([Some(1234.4), Some(9.5)]), [Some("1,234 s".into()), Some("9.500 s".into())]);
        assert_eq!(seconds_pair([Some(550_800.0), Some(900.0)]), [Some("153.0 h".into()), Some("0.250 h".into())]);
        assert_eq!(seconds_pair([Some(0.0), None]), [Some("0 s".into()), None]);
        assert_eq!(duration(10_440.0), "2 h 54 min");
        assert_eq!(duration(59.6), "60 s");
        assert_eq!(memory([Some(1.2 * GIB), Some(1.25 * GIB)]).as_deref(), Some("1.20 → 1.25 GiB (+4.2 %)"));
        assert_eq!(memory([Some(512.0 * MIB), None]).as_deref(), Some("512 MiB → unknown"));
        assert_eq!(memory([None, None]), None);
        assert_eq!(count(1_234_567), "1,234,567");
    }

    proptest! {
        #[test]
        fn never_nan(bits in any::<[u64; 3]>()) {
            let [a, b, c] = bits.map(f64::from_bits);
            let texts = [
                change(a), interval(a, b, c), size(a).unwrap_or_default(), seconds(a), duration(a), bytes(a), share(a),
                memory([Some(a), Some(b)]).unwrap_or_default(),
            ];
            for text in &texts[..6] {
                prop_assert!(!text.contains("NaN") && !text.contains("inf"), "{}", text);
                prop_assert!(!text.contains('-') || text.contains("10^-"), "{}", text);
            }
            prop_assert!(!texts[7].contains("NaN") && !texts[7].contains("inf"), "{}", texts[7]);
        }
    }

    #[test]
    fn both_ends_of_an_interval_have_one_unit() {
        assert_eq!(interval(5.3, 4.887, 5.7), "×5.3 (×4.9 to ×5.7)");
        assert_eq!(interval(5.6, 0.8, 10.5), "×5.6 (÷1.2 to ×10.5)");
        assert_eq!(interval(4.9, 3.0, 10.5), "+390.0 % (×3.0 to ×10.5)");
        assert_eq!(interval(0.1, 0.05, 0.5), "÷10.0 (÷20.0 to ÷2.0)");
        assert_eq!(interval(1.5, 1.2, 2.5), "+50.0 % (+20.0 to +150.0 %)");
    }
}

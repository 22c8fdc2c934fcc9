//! Randomness from a seed.

use std::fmt::Write as _;

/// A generator (`SplitMix64`): the same seed throws the same numbers.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Whether something of this probability happens. Nothing is thrown for what cannot happen.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && ((self.next() >> 11) as f64) / ((1_u64 << 53) as f64) < probability
    }

    /// So many characters of hexadecimal digits.
    pub(crate) fn hex(&mut self, length: usize) -> String {
        let mut text = String::new();
        while text.len() < length {
            let _ = write!(text, "{:016x}", self.next());
        }
        text.truncate(length);
        text
    }

    /// A GUID of version 4.
    pub(crate) fn guid(&mut self) -> String {
        let h = self.hex(32);
        format!("{}-{}-4{}-a{}-{}", &h[..8], &h[8..12], &h[13..16], &h[17..20], &h[20..])
    }
}

#[cfg(test)]
mod tests {
    use super::Dice;

    #[test]
    fn the_same_seed_throws_the_same_numbers() {
        let throw = |seed| Dice::new(seed).guid();
        assert_eq!(throw(7), throw(7));
        assert_ne!(throw(7), throw(8));
        assert_eq!(throw(7).len(), 36);
    }

    #[test]
    fn chances() {
        let mut dice = Dice::new(1);
        let hits = (0..10_000).filter(|_| dice.happens(0.25)).count();
        assert!((2300..2700).contains(&hits), "{hits}");
        assert!(!dice.happens(0.0));
        assert!(dice.happens(1.0));
    }
}

//! Random numbers from a seed.

/// `SplitMix64` (Steele, Lea, Flood 2014): one word of state, every seed a full period.
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`, which is above 0.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// One of these.
    pub(super) fn pick<T: Copy, const N: usize>(&mut self, of: [T; N]) -> T {
        // Below N, which is a usize.
        of[usize::try_from(self.below(N as u64)).unwrap_or(0)]
    }

    /// True in `per_mille` of 1000 cases.
    pub(super) fn happens(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }
}

/// Draws that depend on the seed and on what they are about, not on when they are drawn: how a trial comes out must not
/// depend on crashes.
pub(super) fn about(seed: u64, what: &str) -> Chance {
    // FNV-1a spreads the text over the word; SplitMix64 does the rest.
    let hash = what
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mut chance = Chance::new(seed ^ hash);
    chance.next();
    chance
}

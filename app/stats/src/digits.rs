//! Numbers with twelve significant digits, the precision of everything that is written down: two platforms whose `ln`
//! and `exp` differ in the last place then write the same text.

use serde::Serializer;

/// `x` with twelve significant digits.
#[must_use]
pub fn twelve(x: f64) -> f64 {
    if !x.is_finite() || x == 0.0 {
        return x;
    }
    format!("{x:.11e}").parse().unwrap_or(x)
}

/// Serialises a number with twelve significant digits; what is not finite becomes null.
///
/// # Errors
/// Those of the serializer.
#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde asks for
pub fn serialize<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if x.is_finite() { serializer.serialize_f64(twelve(*x)) } else { serializer.serialize_none() }
}

/// The same for numbers that may be absent.
pub mod option {
    use serde::Serializer;

    /// Serialises an optional number with twelve significant digits.
    ///
    /// # Errors
    /// Those of the serializer.
    #[allow(clippy::trivially_copy_pass_by_ref, clippy::ref_option)] // the signature that serde asks for
    pub fn serialize<S: Serializer>(x: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        match x {
            Some(v) => super::serialize(v, serializer),
            None => serializer.serialize_none(),
        }
    }
}

/// The same for a pair of numbers that may be absent.
pub mod pair {
    use serde::{Serialize, Serializer};

    /// Serialises a pair of optional numbers with twelve significant digits.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(x: &[Option<f64>; 2], serializer: S) -> Result<S::Ok, S::Error> {
        x.map(|v| v.filter(|v| v.is_finite()).map(super::twelve)).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::twelve;

    #[test]
    fn twelve_digits() {
        assert_eq!(twelve(0.1 + 0.2), 0.3);
        assert_eq!(twelve(-1.234_567_890_123_456e-7), -1.234_567_890_12e-7);
        assert_eq!(twelve(0.0), 0.0);
        assert!(twelve(f64::INFINITY).is_infinite());
    }
}

//! The signature of a delivery.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The value of `X-Hub-Signature-256` for a body: `sha256=` and 64 hexadecimal digits.
#[must_use]
pub fn sign(secret: &str, body: &[u8]) -> String {
    // A key of any length is taken.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_of_the_documentation() {
        assert_eq!(
            super::sign("It's a Secret to Everybody", b"Hello, World!"),
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        );
    }
}

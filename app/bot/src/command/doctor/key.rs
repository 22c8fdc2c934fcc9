//! The fingerprint of a private key, as the settings of an app at GitHub show it: SHA-256 of the public key in DER, in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const BITS: u8 = 0x03;
/// `rsaEncryption` and its empty parameters.
const RSA: [u8; 13] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

/// How a key is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `BEGIN RSA PRIVATE KEY`, as GitHub gives it.
    Pkcs1,
    /// `BEGIN PRIVATE KEY`.
    Pkcs8,
}

impl Form {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Pkcs1 => "PKCS#1",
            Self::Pkcs8 => "PKCS#8",
        }
    }
}

/// The form of a key in PEM and its fingerprint; `None` where it is no such key.
pub(super) fn fingerprint(pem: &str) -> Option<(Form, String)> {
    let (form, name) = if pem.contains("BEGIN RSA PRIVATE KEY") {
        (Form::Pkcs1, "RSA PRIVATE KEY")
    } else {
        (Form::Pkcs8, "PRIVATE KEY")
    };
    let (_, rest) = pem.split_once(&format!("-----BEGIN {name}-----"))?;
    let (body, _) = rest.split_once("-----END")?;
    let text: String = body.split_whitespace().collect();
    let der = STANDARD.decode(text).ok()?;
    let (n, e) = numbers(&der, form)?;
    let key = value(SEQUENCE, &[value(INTEGER, n), value(INTEGER, e)].concat());
    let bits = value(BITS, &[&[0_u8][..], &key].concat());
    let public = value(SEQUENCE, &[value(SEQUENCE, &RSA), bits].concat());
    Some((form, format!("SHA256:{}", STANDARD.encode(Sha256::digest(public)))))
}

/// Modulus and exponent.
fn numbers(der: &[u8], form: Form) -> Option<(&[u8], &[u8])> {
    let (whole, _) = read(der, SEQUENCE)?;
    let (_version, rest) = read(whole, INTEGER)?;
    if form == Form::Pkcs8 {
        let (_algorithm, rest) = read(rest, SEQUENCE)?;
        let (key, _) = read(rest, OCTETS)?;
        return numbers(key, Form::Pkcs1);
    }
    let (n, rest) = read(rest, INTEGER)?;
    let (e, _) = read(rest, INTEGER)?;
    Some((n, e))
}

/// The content of a value of this kind at the beginning, and what comes after it.
fn read(der: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let digits = usize::from(first & 0x7f);
        if digits == 0 || digits > 4 || rest.len() < digits {
            return None;
        }
        let (digits, rest) = rest.split_at(digits);
        (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
    };
    (found == kind && rest.len() >= length).then(|| rest.split_at(length))
}

/// A value of a kind.
fn value(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    let length = content.len();
    if let (Ok(short), true) = (u8::try_from(length), length < 0x80) {
        out.push(short);
    } else {
        let digits: Vec<u8> = length.to_be_bytes().into_iter().skip_while(|digit| *digit == 0).collect();
        // At most eight digits.
        out.push(0x80 | u8::try_from(digits.len()).unwrap_or(8));
        out.extend(digits);
    }
    out.extend_from_slice(content);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    // What `openssl rsa -in KEY -pubout -outform DER | openssl sha256 -binary | openssl base64` says of the key.
    const OF_BOTH: &str = "/+Lgc1kSc5ubLKzzJJgLdN47Lr3oH8K4kJUNs4HKmHc=";

    #[test]
    fn the_same_key_in_both_forms() {
        let one = fingerprint(include_str!("../../config/fixtures/rsa-pkcs1.pem"));
        assert_eq!(one, Some((Form::Pkcs1, format!("SHA256:{OF_BOTH}"))));
        let other = fingerprint(include_str!("../../config/fixtures/rsa-pkcs8.pem"));
        assert_eq!(other, Some((Form::Pkcs8, format!("SHA256:{OF_BOTH}"))));
    }

    #[test]
    fn what_is_no_key() {
        let whole = include_str!("../../config/fixtures/rsa-pkcs1.pem");
        let cut = format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END", &whole[40..100]);
        for text in ["", "hunter2", "-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----", cut.as_str()] {
            assert_eq!(fingerprint(text), None, "{text}");
        }
    }
}

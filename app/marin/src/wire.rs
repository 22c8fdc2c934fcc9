//! JSON of protocol buffers: 64-bit integers as text, enums by name or number, absent means zero.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a newer server added to a message.
pub type Extra = serde_json::Map<String, Value>;

/// A 64-bit integer, written as text, read from text or number.
pub(crate) mod int64 {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(i64),
        Text(String),
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        match Either::deserialize(deserializer)? {
            Either::Number(number) => Ok(number),
            Either::Text(text) => text.parse().map_err(|_| D::Error::custom(format!("`{text}` is not an integer"))),
        }
    }

    #[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
    pub(crate) fn serialize<S: Serializer>(number: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }
}

/// Bytes as base64 text.
pub(crate) mod bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(|why| D::Error::custom(format!("not base64: {why}")))
    }

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Timestamp {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[serde(rename = "epochMs", default, with = "int64")]
    pub epoch_ms: i64,
}

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Millis {
    /// Milliseconds.
    #[serde(default, with = "int64")]
    pub milliseconds: i64,
}

/// An enum of the wire whose unknown values survive: known by name or number, anything else is `Other`.
macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident, $zero:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal $number:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)+
            /// A value this version does not know: its name, or its number in digits.
            Other(String),
        }

        impl $name {
            /// The name on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Other(name) => name,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl From<i64> for $name {
            fn from(number: i64) -> Self {
                match number {
                    $($number => Self::$variant,)+
                    other => Self::Other(other.to_string()),
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::$zero
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(untagged)]
                enum Either {
                    Number(i64),
                    Text(String),
                }
                Ok(match Either::deserialize(deserializer)? {
                    Either::Number(number) => Self::from(number),
                    Either::Text(text) => Self::from(text.as_str()),
                })
            }
        }
    };
}
pub(crate) use open_enum;

/// Removes members that are `null`, which mean the same as absent ones.
pub(crate) fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

//! One measured stage of one execution.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use stats::Reading;

/// The status of a stage that finished.
pub const ENDED: &str = "END";

/// One record of `zephyr.stage`. Every number is a [`Reading`], so that an absent, null or unusable one never becomes
/// 0. Stage name and status are foreign text, kept as they came.
///
/// In JSON a missing reading is null or absent, a bad one is anything that is no usable number (written as `"bad"`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageRecord<'a> {
    /// The execution; checked when records are assembled.
    #[serde(borrow)]
    pub execution_id: Cow<'a, str>,
    /// The stage. Generic, and shared by different pipelines.
    #[serde(borrow)]
    pub stage_name: Cow<'a, str>,
    /// [`ENDED`], or why not; `None` where it is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Cow<'a, str>>,
    /// Seconds between the stage's barriers.
    #[serde(default, with = "reading")]
    pub elapsed: Reading,
    /// User and system CPU seconds of all shards.
    #[serde(default, with = "reading")]
    pub cpu_time_total: Reading,
    /// Items processed.
    #[serde(default, with = "reading")]
    pub items: Reading,
    /// Bytes processed.
    #[serde(default, with = "reading")]
    pub bytes_processed: Reading,
    /// Shards.
    #[serde(default, with = "reading")]
    pub total_shards: Reading,
    /// Largest resident memory of a shard, bytes.
    #[serde(default, with = "reading")]
    pub mem_peak_bytes_max: Reading,
    /// Mean resident memory of a shard, bytes. Context only.
    #[serde(default, with = "reading")]
    pub mem_bytes_avg: Reading,
    /// Mean CPU use of a shard, percent of a core. Context only.
    #[serde(default, with = "reading")]
    pub cpu_pct_avg: Reading,
}

mod reading {
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::Value;
    use stats::Reading;

    #[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde asks for
    pub(super) fn serialize<S: Serializer>(reading: &Reading, serializer: S) -> Result<S::Ok, S::Error> {
        match reading {
            Reading::Missing => serializer.serialize_none(),
            Reading::Bad => serializer.serialize_str("bad"),
            Reading::Value(v) => crate::setting::serialize_number(*v, serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Reading, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::Null => Reading::Missing,
            Value::Number(number) => number.as_f64().map_or(Reading::Bad, Reading::of),
            _ => Reading::Bad,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_missing_bad_and_zero_apart() {
        let text = r#"{"execution_id":"e","stage_name":"s","status":"END","elapsed":0,"cpu_time_total":"NaN",
            "items":1676,"bytes_processed":-1,"total_shards":null,"mem_peak_bytes_max":true,"mem_bytes_avg":1.5}"#;
        let record: StageRecord<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(record.elapsed, Reading::Value(0.0));
        assert_eq!(record.cpu_time_total, Reading::Bad);
        assert_eq!(record.items, Reading::Value(1676.0));
        assert_eq!(record.bytes_processed, Reading::Bad);
        assert_eq!(record.total_shards, Reading::Missing);
        assert_eq!(record.mem_peak_bytes_max, Reading::Bad);
        assert_eq!(record.cpu_pct_avg, Reading::Missing);
        let written = serde_json::to_string(&record).unwrap();
        assert!(written.contains(r#""items":1676,"#) && written.contains(r#""mem_bytes_avg":1.5,"#), "{written}");
        assert_eq!(serde_json::from_str::<StageRecord<'_>>(&written).unwrap(), record);
    }
}

//! Single files.

use domain::ports::Forge as _;
use domain::ports::forge::ForgeError;
use serde_json::{Value, json};

use crate::fake::Fault;
use crate::stage::{Stage, repo};

const HEAD: &str = "deadbeef00112233445566778899aabbccddeeff";

fn file(size: u64, encoding: &str, content: &str) -> Value {
    json!({ "type": "file", "size": size, "encoding": encoding, "content": content })
}

#[tokio::test]
async fn a_file_of_the_usual_branch_and_of_a_commit() {
    let stage = Stage::new().await;
    let at = HEAD.parse().unwrap();
    stage.fake().contents = [
        (".github/a%20b.toml".to_owned(), file(11, "base64", "aGVsbG8g\nd29ybGQ=\n")),
        (format!(".github/a%20b.toml?ref={HEAD}"), file(0, "base64", "")),
    ]
    .into();
    let read = async |at| stage.github.file(&repo(), ".github/a b.toml", at).await.unwrap();
    assert_eq!(read(None).await.as_deref(), Some(&b"hello world"[..]));
    assert_eq!(read(Some(&at)).await.as_deref(), Some(&b""[..]));
    assert_eq!(stage.github.file(&repo(), "other", None).await.unwrap(), None);
    // The commit is missing, which tells nothing of the file.
    stage.fault(Fault::new("GET", "/contents/", 404).says(&format!("No commit found for the ref {HEAD}")));
    let error = stage.github.file(&repo(), ".github/a b.toml", Some(&at)).await.unwrap_err();
    assert!(matches!(error, ForgeError::Gone(_)), "{error:?}");
}

#[tokio::test]
async fn what_is_no_file_or_too_large() {
    let stage = Stage::new().await;
    let long = "QUFB".repeat(400_000);
    stage.fake().contents = [
        ("large", file(1_048_577, "none", "")),
        ("lying", file(3, "base64", &long)),
        ("folder", json!([{ "type": "file", "path": "folder/a" }])),
        ("module", json!({ "type": "submodule", "size": 0 })),
    ]
    .map(|(name, found)| (name.to_owned(), found))
    .into();
    for path in ["large", "lying", "folder", "module", "../up", "/etc/passwd", ""] {
        let error = stage.github.file(&repo(), path, None).await.unwrap_err();
        assert!(matches!(error, ForgeError::Refused(_)), "{path}: {error:?}");
    }
    stage.fake().contents = [("a".to_owned(), file(3, "base64", "no base64!"))].into();
    let error = stage.github.file(&repo(), "a", None).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unavailable(_)), "{error:?}");
}

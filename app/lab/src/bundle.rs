//! stub
use crate::git::{Mirror, TreePath};
use domain::ids::CommitSha;
use std::sync::Arc;
/// b
#[derive(Debug)]
pub struct Bundler {
    mirror: Mirror,
}
/// o
pub struct Overlay {
    /// c
    pub commit: CommitSha,
    /// p
    pub paths: Vec<TreePath>,
}
/// b
pub struct Bundle {
    /// i
    pub id: String,
    /// b
    pub bytes: Arc<[u8]>,
}
impl Bundler {
    /// n
    pub fn new(mirror: Mirror) -> Self {
        Self { mirror }
    }
    /// b
    pub fn bundle(&self, c: &CommitSha, _: Option<&Overlay>) -> Result<Bundle, String> {
        let bytes = self.mirror.git().run(&["archive", "--format=zip", c.as_str()]).map_err(|e| e.to_string())?;
        Ok(Bundle { id: marin::iris::bundle_id(&bytes), bytes: bytes.into() })
    }
}

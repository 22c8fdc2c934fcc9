//! How clusters are reached.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// How a cluster is reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterConfig {
    /// Address of the Iris controller.
    pub controller: String,
    /// Address of Finelog, where it is not reached through the controller.
    pub finelog: Option<String>,
    /// Whose the jobs are, where the controller has no logins.
    #[serde(default = "user")]
    pub user: String,
    /// What calls carry to be let in.
    #[serde(default)]
    pub login: LoginConfig,
}

fn user() -> String {
    "zephyr-ab".to_owned()
}

/// What calls carry to be let in: either, both or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginConfig {
    /// For an identity-aware proxy before the controller: `Proxy-Authorization`.
    pub proxy: Option<TokenConfig>,
    /// For the controller itself: `Authorization`.
    pub service: Option<TokenConfig>,
}

impl LoginConfig {
    /// With the files of it seen from `folder`.
    pub(super) fn seen_from(&mut self, folder: &Path) {
        for token in [&mut self.proxy, &mut self.service].into_iter().flatten() {
            match token {
                TokenConfig::ServiceAccount { service_account: file, .. } | TokenConfig::File { token_file: file } => {
                    *file = folder.join(&*file);
                }
                TokenConfig::Env { .. } => {}
            }
        }
    }
}

/// Where a token comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, untagged)]
pub enum TokenConfig {
    /// From the key of a Google service account, exchanged for an identity token.
    ServiceAccount {
        /// The key file, JSON as Google gives it.
        service_account: PathBuf,
        /// Whom the token is for: the client id of the proxy.
        audience: String,
    },
    /// From a file, as it is.
    File {
        /// The file.
        token_file: PathBuf,
    },
    /// From an environment variable.
    Env {
        /// The name of the variable.
        token_env: String,
    },
}

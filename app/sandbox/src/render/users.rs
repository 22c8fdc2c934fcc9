//! Accounts.

use serde_json::{Value, json};

use crate::model::Kind;
use crate::stamp::written;
use crate::state::State;

impl State {
    /// A short account; null where there is none of this name.
    pub(crate) fn user_json(&self, login: &str) -> Value {
        let Some(user) = self.users.get(login) else { return Value::Null };
        let encoded = login.replace('[', "%5B").replace(']', "%5D");
        let url = format!("{}/users/{encoded}", self.api());
        let page = match user.kind {
            Kind::Bot => format!("{}/apps/{}", self.web, login.trim_end_matches("[bot]")),
            Kind::User | Kind::Organization => format!("{}/{encoded}", self.web),
        };
        json!({
            "login": user.login,
            "id": user.id,
            "node_id": format!("U_{}", user.id),
            "avatar_url": format!("{}/avatars/u/{}", self.web, user.id),
            "gravatar_id": "",
            "url": url,
            "html_url": page,
            "followers_url": format!("{url}/followers"),
            "following_url": format!("{url}/following{{/other_user}}"),
            "gists_url": format!("{url}/gists{{/gist_id}}"),
            "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
            "subscriptions_url": format!("{url}/subscriptions"),
            "organizations_url": format!("{url}/orgs"),
            "repos_url": format!("{url}/repos"),
            "events_url": format!("{url}/events{{/privacy}}"),
            "received_events_url": format!("{url}/received_events"),
            "type": user.kind.word(),
            "user_view_type": "public",
            "site_admin": false,
        })
    }

    /// The page of an account.
    pub(crate) fn profile_json(&self, login: &str) -> Value {
        let mut profile = self.user_json(login);
        let made = written(self.app.created_ms);
        for (key, value) in [
            ("name", Value::Null),
            ("company", Value::Null),
            ("blog", "".into()),
            ("location", Value::Null),
            ("email", Value::Null),
            ("hireable", Value::Null),
            ("bio", Value::Null),
            ("public_repos", 0.into()),
            ("public_gists", 0.into()),
            ("followers", 0.into()),
            ("following", 0.into()),
            ("created_at", made.as_str().into()),
            ("updated_at", made.as_str().into()),
        ] {
            profile[key] = value;
        }
        profile
    }
}

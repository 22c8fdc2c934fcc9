//! Tokens: where they go, that they are got once, and that nobody sees them.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use marin::auth::{LoginError, ServiceAccount, StaticToken, TokenSource as _};
use marin::{Code, Error, Iris, Login, RetryPolicy, Transport};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::faults::{Act, Script, StillClock, say};

const KEY: &str = include_str!("../fixtures/test-only-key.pem");
const PUBLIC: &str = include_str!("../fixtures/test-only-key.pub.pem");
const NOW: u64 = 1_796_000_000;

fn key_file(token_uri: &str) -> SecretString {
    json!({
        "type": "service_account", "client_email": "bot@project.example", "private_key": KEY, "private_key_id": "k1",
        "token_uri": token_uri, "project_id": "project",
    })
    .to_string()
    .into()
}

fn id_token(name: &str, ends: u64) -> Act {
    let payload = URL_SAFE_NO_PAD.encode(json!({ "exp": ends }).to_string());
    say(200, &json!({ "id_token": format!("{name}.{payload}.signature") }))
}

#[tokio::test]
async fn a_token_is_exchanged_once_kept_and_renewed_in_time() {
    let clock = StillClock::at(NOW);
    let script = Script::start(vec![
        id_token("first", NOW + 3600),
        id_token("second", NOW + 7200),
        Act::Say(503, String::new()),
    ])
    .await;
    let uri = format!("{}/token", script.url);
    let account = Arc::new(ServiceAccount::new(&key_file(&uri), "the-audience", clock.clone()).expect("a key"));
    let askers: Vec<_> = (0..20)
        .map(|_| {
            let account = account.clone();
            tokio::spawn(async move { account.token().await.expect("a token").expose_secret().to_owned() })
        })
        .collect();
    for asker in askers {
        assert!(asker.await.expect("no panic").starts_with("first."));
    }
    assert_eq!(script.count(), 1, "one exchange for all");

    let (path, headers, body) = script.calls.lock().expect("no panic")[0].clone();
    assert_eq!(path, "/token");
    assert!(headers.contains("application/x-www-form-urlencoded"));
    let assertion = body
        .strip_prefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=")
        .expect("the grant");
    let mut rules = Validation::new(Algorithm::RS256);
    rules.set_audience(&[&uri]);
    rules.validate_exp = false;
    let public = DecodingKey::from_rsa_pem(PUBLIC.as_bytes()).expect("a key");
    let token = jsonwebtoken::decode::<Value>(assertion, &public, &rules).expect("signed with the key");
    assert_eq!(token.header.kid.as_deref(), Some("k1"));
    assert_eq!(token.claims["target_audience"], "the-audience");
    assert_eq!((token.claims["iss"].as_str(), token.claims["iat"].as_u64()), (Some("bot@project.example"), Some(NOW)));
    assert!(token.claims["exp"].as_u64().expect("a number") <= NOW + 3600);

    let at = |seconds: u64| *clock.now.lock().expect("no panic") = Duration::from_secs(seconds);
    at(NOW + 3600 - 301);
    assert!(account.token().await.expect("kept").expose_secret().starts_with("first."));
    at(NOW + 3600 - 300);
    assert!(account.token().await.expect("renewed").expose_secret().starts_with("second."));
    // The server is down: the old one is good for five minutes yet.
    at(NOW + 7200 - 10);
    assert!(account.token().await.expect("kept").expose_secret().starts_with("second."));
    at(NOW + 7200);
    assert!(matches!(account.token().await, Err(LoginError::Refused { http: 503, .. })));
}

#[tokio::test]
async fn headers_go_where_they_belong_and_a_refused_token_is_got_anew() {
    let clock = StillClock::at(NOW);
    let tokens = Script::start(vec![id_token("stale", NOW + 3600), id_token("fresh", NOW + 3600)]).await;
    let iris = Script::start(vec![
        say(401, &json!({ "code": "unauthenticated", "message": "no" })),
        say(200, &json!({ "userId": "bot" })),
    ])
    .await;
    let account = ServiceAccount::new(&key_file(&tokens.url), "aud", clock.clone()).expect("a key");
    let service = StaticToken::new("service-secret".to_owned().into());
    let login = Login::none().with_service(Arc::new(service)).with_proxy(Arc::new(account));
    let client = Iris::new(Transport::new(&iris.url, login, clock).expect("an address").with_retry(RetryPolicy::NEVER));
    assert_eq!(client.current_user().await.expect("let in").user_id, "bot");
    let calls = iris.calls.lock().expect("no panic");
    for ((_, headers, body), name) in calls.iter().zip(["stale", "fresh"]) {
        assert!(headers.contains("\"authorization\": \"Bearer service-secret\""), "{headers}");
        assert!(headers.contains(&format!("\"proxy-authorization\": \"Bearer {name}.")), "{headers}");
        assert!(!body.contains("secret"));
    }
    assert_eq!(calls.len(), 2);
}

#[tokio::test]
async fn nothing_that_is_printed_holds_a_secret() {
    let clock = StillClock::at(NOW);
    let refuses = Script::start(vec![say(400, &json!({ "error": "invalid_grant", "error_description": KEY }))]).await;
    let account = Arc::new(ServiceAccount::new(&key_file(&refuses.url), "aud", clock.clone()).expect("a key"));
    let service = Arc::new(StaticToken::new("service-secret".to_owned().into()));
    let login = Login::none().with_service(service.clone()).with_proxy(account.clone());
    let transport = Transport::new("http://127.0.0.1:1", login.clone(), clock.clone()).expect("an address");
    let refused = Iris::new(transport.clone()).current_user().await.expect_err("refused");
    assert!(matches!(refused, Error::Login(LoginError::Refused { http: 400, .. })), "{refused}");
    let only = Login::none().with_service(service.clone());
    let unreachable = Transport::new("http://127.0.0.1:1", only, clock.clone()).expect("an address");
    let unreachable = Iris::new(unreachable.with_retry(RetryPolicy::NEVER)).current_user().await.expect_err("nobody");
    let bad_token = Login::none().with_service(Arc::new(StaticToken::new("service-secret\n".to_owned().into())));
    let bad_token = Transport::new("http://127.0.0.1:1", bad_token, clock.clone()).expect("an address");
    let bad_token = Iris::new(bad_token).current_user().await.expect_err("not a token");
    let cut = key_file("https://token.example").expose_secret().replace("BEGIN RSA", "BEGIN XYZ");
    let bad_key = ServiceAccount::new(&cut.into(), "aud", clock.clone()).expect_err("no key");
    let typo: SecretString =
        format!("{{\"type\": \"service_account\", \"private_key\": {:?} x", "service-secret").into();
    let bad_file = ServiceAccount::new(&typo, "aud", clock.clone()).expect_err("no JSON");
    let plain = ServiceAccount::new(&key_file("http://token.example"), "aud", clock.clone()).expect_err("not https");
    let address =
        Transport::new("https://u:service-secret@iris.example", Login::none(), clock.clone()).expect_err("a user");
    let far = Transport::new("http://iris.example", login.clone(), clock).expect_err("a login over plain http");
    let all = format!(
        "{refused} {refused:?} {unreachable} {unreachable:?} {bad_token} {bad_token:?} {bad_key:?} {bad_file} {plain} \
         {address} {address:?} {far} {login:?} {transport:?} {account:?} {service:?}"
    );
    let inner: String = KEY.lines().nth(1).expect("a line").into();
    assert!(!all.contains("service-secret") && !all.contains(&inner) && !all.contains("Bearer"), "{all}");
    assert!(all.contains("invalid_grant") && all.contains("bot@project.example"));
    assert_eq!(Code::of_http(401), Code::Unauthenticated);
}

//! Lists in pages.

use serde_json::Value;

use super::call::Call;
use super::reply::{Reply, refuse};

/// The page of a list that a request asks for, and the `Link` header that leads to the others.
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    pub(crate) link: Option<String>,
}

/// Items of a page, and which page.
fn wanted(call: &Call) -> Result<(usize, usize), Reply> {
    let number = |name: &str, usual: usize| match call.asked(name) {
        None => Ok(usual),
        Some(text) => text.parse().map_err(|_| refuse(422, &format!("{name} is not a number"))),
    };
    Ok((number("per_page", 30)?.clamp(1, 100), number("page", 1)?.max(1)))
}

/// The page that is asked for. `url` is the address of the list.
pub(crate) fn page<T>(call: &Call, url: &str, all: Vec<T>) -> Result<Page<T>, Reply> {
    let (per_page, page) = wanted(call)?;
    let last = all.len().div_ceil(per_page).max(1);
    let to = |page: usize, rel: &str| {
        let mut query: Vec<String> = Vec::new();
        for part in call.raw_query.split('&').filter(|part| !part.is_empty() && !part.starts_with("page=")) {
            query.push(part.to_owned());
        }
        query.push(format!("page={page}"));
        format!("<{url}?{}>; rel=\"{rel}\"", query.join("&"))
    };
    let mut links = Vec::new();
    if page > 1 {
        links.push(to(page - 1, "prev"));
    }
    if page < last {
        links.push(to(page + 1, "next"));
        links.push(to(last, "last"));
    }
    if page > 1 {
        links.push(to(1, "first"));
    }
    let items = all.into_iter().skip((page - 1) * per_page).take(per_page).collect();
    Ok(Page { items, link: (!links.is_empty()).then(|| links.join(", ")) })
}

impl<T> Page<T> {
    /// The answer with this body.
    pub(crate) fn reply(link: Option<String>, body: Value) -> Reply {
        let reply = Reply::new(200, body);
        match link {
            Some(link) => reply.with("link", link),
            None => reply,
        }
    }
}

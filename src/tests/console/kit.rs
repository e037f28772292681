//! A person at the console, by plain HTTP: keeps cookies and follows nothing.

use std::{collections::BTreeMap, net::IpAddr};

use console::sign_in::{self, NewLink};
use kernel::Clock;
use parking_lot::Mutex;
use reqwest::{
    Method, RequestBuilder, Response, StatusCode,
    header::{COOKIE, HeaderMap, LOCATION, SET_COOKIE},
    redirect::Policy,
};
use url::Url;
use web::auth::ScopeSet;

use crate::kit::{Workspace, server};

/// A browser without scripts.
#[derive(Debug)]
pub(crate) struct Person {
    http: reqwest::Client,
    base: String,
    cookies: Mutex<BTreeMap<String, String>>,
}

/// An answer with its text.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Seen {
    pub(crate) fn location(&self) -> &str {
        self.headers[LOCATION].to_str().unwrap()
    }

    /// The line that sets a cookie.
    pub(crate) fn set_cookie(&self, name: &str) -> Option<&str> {
        let lines = self.headers.get_all(SET_COOKIE).iter().map(|line| line.to_str().unwrap());
        lines.into_iter().find(|line| line.starts_with(&format!("{name}=")))
    }

    /// The text between two others, the first time it is there.
    pub(crate) fn between(&self, before: &str, after: &str) -> &str {
        let from = self.text.find(before).unwrap_or_else(|| panic!("no {before}: {}", self.text));
        let rest = &self.text[from + before.len()..];
        &rest[..rest.find(after).unwrap()]
    }

    /// The numbers of the page's chart.
    pub(crate) fn chart(&self) -> serde_json::Value {
        let mut data = self.between("data-chart=\"", "\"").to_owned();
        for (escaped, letter) in [("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")] {
            data = data.replace(escaped, letter);
        }
        serde_json::from_str(&data).unwrap()
    }

    pub(crate) fn csrf(&self) -> &str {
        self.between("name=\"csrf-token\" content=\"", "\"")
    }
}

/// A link that signs in at the workspace's server.
pub(crate) async fn link(workspace: &Workspace, scopes: &str) -> Url {
    link_for(workspace, "ann@example.test", scopes).await
}

/// Likewise, for an actor of this name.
pub(crate) async fn link_for(workspace: &Workspace, actor: &str, scopes: &str) -> Url {
    let (db, now) = (workspace.server.db(), Clock::system().now());
    let base = Url::parse(&workspace.server.url).unwrap();
    let scopes: ScopeSet = scopes.parse().unwrap();
    let new = NewLink { workspace: workspace.id, actor: actor.to_owned(), scopes };
    let create = async move { sign_in::create_link(&db, now, &base, &new).await.unwrap() };
    workspace.server.on(create).await
}

impl Person {
    pub(crate) fn new() -> Self {
        Self::at(&server().url, None)
    }

    /// A person at another address, for limits by peer.
    pub(crate) fn at(base: &str, address: Option<IpAddr>) -> Self {
        let builder = reqwest::Client::builder().redirect(Policy::none()).pool_max_idle_per_host(0);
        let http = builder.local_address(address).build().unwrap();
        Self { http, base: base.to_owned(), cookies: Mutex::default() }
    }

    /// A person who is signed in with these scopes.
    pub(crate) async fn signed_in(workspace: &Workspace, scopes: &str) -> Self {
        let person = Self::at(&workspace.server.url, None);
        let url = link(workspace, scopes).await;
        let seen = person.open(&url).await;
        assert_eq!(seen.status, 303, "{}", seen.text);
        person
    }

    /// Opens a link of the server.
    pub(crate) async fn open(&self, url: &Url) -> Seen {
        self.get(&format!("{}?{}", url.path(), url.query().unwrap_or_default())).await
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let cookies = self.cookies();
        let request = self.http.request(method, format!("{}{path}", self.base));
        if cookies.is_empty() { request } else { request.header(COOKIE, cookies) }
    }

    /// The value of a header with the person's cookies.
    pub(crate) fn cookies(&self) -> String {
        let cookies = self.cookies.lock();
        let cookies: Vec<String> = cookies.iter().map(|(k, v)| format!("{k}={v}")).collect();
        cookies.join("; ")
    }

    pub(crate) async fn get(&self, path: &str) -> Seen {
        self.send(self.request(Method::GET, path)).await
    }

    /// Sends a form as it is, without a CSRF token.
    pub(crate) async fn post_bare(&self, path: &str, fields: &[(&str, &str)]) -> Seen {
        let form =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.request(Method::POST, path);
        let kind = "application/x-www-form-urlencoded";
        self.send(request.header("content-type", kind).body(form)).await
    }

    /// Sends a form with the CSRF token of the person's session.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Seen {
        let home = self.get("/console").await;
        let token = [("csrf_token", home.csrf())];
        self.post_bare(path, &[&token, fields].concat()).await
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Seen {
        let answer: Response = request.send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        self.keep_cookies(&headers);
        Seen { status, headers, text: answer.text().await.unwrap() }
    }

    fn keep_cookies(&self, headers: &HeaderMap) {
        let mut cookies = self.cookies.lock();
        for line in headers.get_all(SET_COOKIE) {
            let line = line.to_str().unwrap();
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            if line.contains("Max-Age=0") {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}

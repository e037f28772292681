//! The document around every page.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use maud::{DOCTYPE, Markup, html};

use super::nav::{Entry, nav};
use crate::assets;

/// htmx, so that it fits the policy of pages: no `eval`, no inline style; and so that failures are shown.
const HTMX_CONFIG: &str = r#"{"allowEval":false,"includeIndicatorStyles":false,"selfRequestsOnly":true,"historyEnabled":true,"historyCacheSize":0,"refreshOnHistoryMiss":true,"scrollBehavior":"auto","responseHandling":[{"code":"204","swap":false},{"code":"[23]..","swap":true},{"code":"[45]..","swap":true,"error":true}]}"#;

/// What the frame of a page shows.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'f> {
    pub title: &'f str,
    /// The path of the navigation's current entry.
    pub current: Option<&'f str>,
    pub entries: &'f [Entry],
    pub workspace: &'f str,
    pub actor: &'f str,
    /// What knows the person again in another session, where anything does.
    pub person_key: Option<&'f str>,
    pub csrf: &'f str,
    pub notice: Option<&'f str>,
}

/// A whole page. The content has the one `h1`.
pub fn page(status: StatusCode, frame: &Frame<'_>, content: &Markup) -> Response {
    let body = html! {
        a class="skip" href="#main" { "Skip to content" }
        header class="top" {
            a class="brand" href=(crate::HOME) { "Millrace" }
            span class="workspace" title="Workspace" { bdi { (frame.workspace) } }
            form class="sign-out" method="post" action=(crate::SIGN_OUT) {
                input type="hidden" name="csrf_token" value=(frame.csrf);
                span class="quiet" { bdi { (frame.actor) } }
                button class="button quiet" type="submit" { "Sign out" }
            }
        }
        div class="columns" {
            (nav(frame.entries, frame.current))
            main id="main" tabindex="-1" { (content) }
        }
        div class="toasts" id="toasts" role="status" aria-live="polite" {
            @if let Some(notice) = frame.notice { p class="toast" { (notice) } }
        }
    };
    let head = html! {
        meta name="csrf-token" content=(frame.csrf);
        // Unsaved forms are kept in the tab for this person alone. No secret.
        @if let Some(key) = frame.person_key { meta name="person" content=(key); }
        meta name="htmx-config" content=(HTMX_CONFIG);
        script defer src=(assets::url("htmx.js")) {}
        script type="module" src=(assets::url("console.js")) {}
    };
    answer(status, &document(frame.title, &head, "framed", &body))
}

/// A page without a session: no navigation, no script.
pub fn bare_page(status: StatusCode, title: &str, content: &Markup) -> Response {
    let body = html! {
        header class="top" { a class="brand" href=(crate::HOME) { "Millrace" } }
        main id="main" class="narrow" { (content) }
    };
    answer(status, &document(title, &html! {}, "bare", &body))
}

/// A part of a page, for a script to put in.
pub fn part(status: StatusCode, content: &Markup) -> Response {
    answer(status, content)
}

fn document(title: &str, head: &Markup, class: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Millrace" }
                link rel="icon" href=(assets::url("icon.svg")) type="image/svg+xml";
                link rel="stylesheet" href=(assets::url("console.css"));
                (head)
            }
            body class=(class) { (body) }
        }
    }
}

fn answer(status: StatusCode, markup: &Markup) -> Response {
    let mut response = (status, markup.0.clone()).into_response();
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, html);
    response
}

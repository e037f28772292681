//! The document around every page. No script, no file from other sites.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const PAGE_STYLE: &str = include_str!("page.css");
pub(super) const FORM_STYLE: &str = include_str!("form.css");

/// A built-in page with the workspace's name.
pub(super) fn page(workspace: &str, title: &str, content: &Markup) -> String {
    let initial: String = workspace
        .chars()
        .find(|c| c.is_alphanumeric())
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    shell(
        &format!("{title} · {workspace}"),
        "light dark",
        &html! {
            style { (PreEscaped(PAGE_STYLE)) (PreEscaped(FORM_STYLE)) }
            div class="page mp-auto" {
                header class="brand" {
                    span class="badge" aria-hidden="true" { (initial) }
                    span class="name" dir="auto" { (workspace) }
                }
                main { (content) }
            }
        },
    )
}

/// A page without a workspace, for links that do not work.
pub(super) fn nameless(title: &str, content: &Markup) -> String {
    shell(
        title,
        "light dark",
        &html! {
            style { (PreEscaped(PAGE_STYLE)) (PreEscaped(FORM_STYLE)) }
            div class="page mp-auto" { main { (content) } }
        },
    )
}

/// The document around a workspace's own HTML, which was sanitized before.
pub(in crate::hosted_page) fn document(workspace: &str, safe_html: &str) -> String {
    // Authors choose colours for a light background.
    shell(&format!("Preferences · {workspace}"), "light", &html! { (PreEscaped(safe_html)) })
}

fn shell(title: &str, color_scheme: &str, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                meta name="color-scheme" content=(color_scheme);
                title { (title) }
            }
            body { (body) }
        }
    }
    .into_string()
}

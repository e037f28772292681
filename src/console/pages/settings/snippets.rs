//! What is copied into a program or an app that sends events: the quick starts of the event SDKs with a key.

use maud::{Markup, html};

use crate::{view, visitor::Visitor};

/// The document that has the quick starts.
const DOCUMENT: &str = include_str!("../../../sdk/README.md");
/// The heading above them.
const HEADING: &str = "## Quick starts";
/// The words before those for browsers.
const IN_BROWSERS: &str = "In browsers";
/// The address and the key that stand in the document.
const SERVER: &str = "http://127.0.0.1:8080";
const KEY: &str = "WRITE_KEY";

/// A quick start: the line that installs the SDK, and the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Snippet {
    install: &'static str,
    code: &'static str,
}

/// The quick starts for a key: of apps in browsers, of others on servers.
pub(super) fn card(visitor: &Visitor, key: &str, is_for_apps: bool) -> Markup {
    let content = html! {
        p { "Unchanged SDKs of Segment, RudderStack and PostHog send here with this key as their write key:" }
        @for Snippet { install, code } in snippets(is_for_apps) {
            details {
                summary { code { (install) } }
                (view::copyable(&code.replace(KEY, key).replace(SERVER, visitor.server_url())))
            }
        }
    };
    view::card("SDKs", &content)
}

fn snippets(is_for_apps: bool) -> Vec<Snippet> {
    let from = DOCUMENT.split_once(HEADING).map_or("", |(_, from)| from);
    let (servers, apps) = from.split_once(IN_BROWSERS).unwrap_or((from, ""));
    let part = if is_for_apps { apps } else { servers };
    // Every second part between fences is code; its first line names the language, its second installs the SDK.
    let fenced = part.split("```").skip(1).step_by(2);
    fenced.filter_map(|block| snippet(block.split_once('\n')?.1.trim_end())).collect()
}

fn snippet(code: &'static str) -> Option<Snippet> {
    let install = code.lines().next()?.trim_start_matches(['/', '#', ' ']);
    Some(Snippet { install, code })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sdk_has_its_lines() {
        for (is_for_apps, packages) in [
            (false, vec!["analytics-node", "rudder-sdk-node", "posthog-node", "posthog"]),
            (true, vec!["analytics-next", "analytics-js", "posthog-js"]),
        ] {
            let snippets = snippets(is_for_apps);
            for package in packages {
                let found = snippets.iter().find(|it| it.install.ends_with(package));
                let code = found.map(|it| it.code).unwrap_or_default();
                assert!(code.contains(KEY) && code.contains(SERVER), "{package}: {code}");
            }
            for Snippet { install, code } in snippets {
                assert!(install.contains("install"), "{install}");
                assert!(code.lines().count() >= 5 && !code.contains("```"), "{code}");
            }
        }
    }
}

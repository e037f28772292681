//! Tabs that are links, since every view has an address.

use maud::{Markup, html};

/// A tab, and the address of its view.
#[derive(Debug, Clone)]
pub struct Tab<'t> {
    pub label: &'t str,
    pub href: String,
    pub is_current: bool,
}

/// Tabs over the views of a page.
pub fn tabs(label: &str, tabs: &[Tab<'_>]) -> Markup {
    html! {
        nav class="tabs" aria-label=(label) {
            @for tab in tabs {
                a href=(tab.href) aria-current=[tab.is_current.then_some("page")] { (tab.label) }
            }
        }
    }
}

//! Tabs that are links, since every view has an address.

use maud::{Markup, html};

/// A tab, and the address of its view.
#[derive(Debug, Clone)]
pub(crate) struct Tab<'t> {
    pub(crate) label: &'t str,
    pub(crate) href: String,
    pub(crate) is_current: bool,
}

/// Tabs over the views of a page.
pub(crate) fn tabs(label: &str, tabs: &[Tab<'_>]) -> Markup {
    html! {
        nav class="tabs" aria-label=(label) {
            @for tab in tabs {
                a href=(tab.href) aria-current=[tab.is_current.then_some("page")] { (tab.label) }
            }
        }
    }
}

//! The navigation: one entry for each page that the session may open.

use maud::{Markup, html};
use web::auth::{ScopeName, ScopeSet};

/// A page of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub name: &'static str,
    pub path: &'static str,
    /// Any of these scopes opens the page; without one, everyone who is signed in may.
    pub scopes: &'static [ScopeName],
}

impl Entry {
    pub fn is_open_to(&self, scopes: ScopeSet) -> bool {
        self.scopes.is_empty() || self.scopes.iter().any(|scope| scopes.has(*scope))
    }
}

/// The navigation, with the current page marked.
pub(crate) fn nav(entries: &[Entry], current: Option<&str>) -> Markup {
    html! {
        nav class="nav" aria-label="Console" {
            ul {
                @for entry in entries {
                    li {
                        a href=(entry.path) aria-current=[(current == Some(entry.path)).then_some("page")] {
                            (entry.name)
                        }
                    }
                }
            }
        }
    }
}

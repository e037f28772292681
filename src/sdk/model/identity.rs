//! Whether calls of apps have to prove whose they are.

use serde::Deserialize;

/// `[sdk] identity`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Identity {
    /// Calls about a person need that person's user token.
    #[default]
    Required,
    /// Calls without a token are taken, and may do less.
    Optional,
}

//! Fields in the addresses of the pages that sign in.

use url::form_urlencoded;

/// The field that names the workspace to sign in to, in forms, too.
pub(super) const WORKSPACE: &str = "workspace";

/// A field of an address, the first of its name.
pub(super) fn field_of(query: Option<&str>, field: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs.find(|(name, _)| name == field).map(|(_, value)| value.into_owned())
}

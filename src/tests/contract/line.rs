//! What a line about an endpoint says.

use serde_json::Value;

/// The id of a user that no workspace has.
pub(super) const ABSENT_USER: &str = "00000000000000000000dead";

/// What a request names.
pub(super) struct Ids<'a> {
    pub(super) user: &'a str,
    pub(super) external: &'a str,
    pub(super) list: &'a str,
    pub(super) campaign: &'a str,
    pub(super) segment: &'a str,
    pub(super) insight: &'a str,
    pub(super) privacy_request: &'a str,
    pub(super) sender_domain: &'a str,
    pub(super) member: &'a str,
    pub(super) key: &'a str,
}

/// Method, path as described, query, body, scope; several scopes with spaces between them.
pub(super) type Line = (&'static str, &'static str, &'static str, Value, &'static str);

//! What an answer is broken down by.

use analytics::insights::{Breakdown, BreakdownSource};
use kernel::fields::{Fields, FromFields};

use super::TEXT_CHARS_MAX;

/// Values of a breakdown where the caller gives no limit.
const VALUES_DEFAULT: i64 = 10;
/// Most values of a breakdown.
pub const VALUES_MAX: i64 = 100;

/// `{property | profile, limit}`: by a property of the event or an attribute of the profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakdownBy {
    /// Where the value stands.
    pub by: Breakdown,
    /// Most values; the rest is one.
    pub limit: u32,
}

impl FromFields for BreakdownBy {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let property = body
            .optional("property")
            .about("A property of the event, as a dot path; either this or `profile`.")
            .text(1..=TEXT_CHARS_MAX);
        let profile = body
            .optional("profile")
            .about("An attribute of the profile, as a dot path; either this or `property`.")
            .text(1..=TEXT_CHARS_MAX);
        let limit = body
            .optional("limit")
            .about("Values with the largest totals; the others are one, null is beside them. Default 10.")
            .integer(1..=VALUES_MAX)
            .unwrap_or(VALUES_DEFAULT);
        let by = match (property, profile) {
            (Some(path), None) => Breakdown { source: BreakdownSource::Property, path },
            (None, Some(path)) => Breakdown { source: BreakdownSource::Profile, path },
            _ => {
                if !body.is_refused("property") && !body.is_refused("profile") {
                    body.refuse_body("must have either property or profile");
                }
                Breakdown { source: BreakdownSource::Property, path: String::new() }
            }
        };
        Self { by, limit: u32::try_from(limit).unwrap_or_default() }
    }
}

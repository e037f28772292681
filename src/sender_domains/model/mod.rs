//! A domain that email may be sent from, the records that belong to it, and what the server itself sends from.

mod name;
mod records;
mod setup;

use kernel::{SenderDomainId, Timestamp};

pub use self::{
    name::{DOMAIN_CHARS_MAX, domain_name},
    records::{Findings, Found, Purpose, Record, records, status_of},
    setup::{DkimKey, SenderSetup},
};

/// Domains of a workspace.
pub const DOMAINS_MAX: i64 = 100;

/// Whether a workspace may send from a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DomainStatus {
    /// It was not checked yet, or DNS gave no answer.
    Pending,
    /// The ownership record was found.
    Verified,
    /// The last check found no ownership record.
    Failed,
}

impl DomainStatus {
    /// The names and the statuses.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("pending", Self::Pending), ("verified", Self::Verified), ("failed", Self::Failed)];

    /// The status as the store writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Verified => "verified",
            Self::Failed => "failed",
        }
    }
}

/// A domain of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderDomain {
    pub id: SenderDomainId,
    /// In ASCII and lower case.
    pub domain: String,
    /// The secret of its ownership record.
    pub token: String,
    /// Whether the workspace may send from it.
    pub status: DomainStatus,
    /// What the last check found.
    pub findings: Findings,
    /// What went wrong at the last check.
    pub problem: Option<String>,
    /// When it was last checked.
    pub checked_at: Option<Timestamp>,
    /// When it was verified.
    pub verified_at: Option<Timestamp>,
    /// When it was added.
    pub created_at: Timestamp,
}

/// Whether a workspace may send from a domain, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sender {
    /// The server's own settings name the domain or one above it.
    OfChannel,
    /// The workspace verified the domain, or one above it.
    Verified {
        domain: String,
        /// The records that the last check did not find.
        missing: Vec<Purpose>,
    },
    Unknown,
}

/// A domain and those above it, the longest first.
pub fn with_parents(domain: &str) -> Vec<String> {
    let starts = domain.match_indices('.').map(|(at, _)| at + 1);
    std::iter::once(0).chain(starts).filter_map(|at| domain.get(at..)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_has_those_above_it() {
        assert_eq!(with_parents("a.b.test"), ["a.b.test", "b.test", "test"]);
        assert_eq!(with_parents("localhost"), ["localhost"]);
    }
}

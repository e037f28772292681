//! Sender domains, their DNS records, and the server's own sender settings.

mod name;
mod records;
mod setup;

use kernel::{SenderDomainId, Timestamp};

pub use self::{
    name::{DOMAIN_CHARS_MAX, domain_name},
    records::{Findings, Purpose, Record, RecordStatus, records, status_of},
    setup::{DkimKey, SenderSetup},
};

pub const DOMAINS_MAX: i64 = 100;

/// Whether a workspace may send from a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DomainStatus {
    /// Not checked yet, or DNS gave no answer.
    Pending,
    /// The ownership record was found.
    Verified,
    /// The last check did not find the ownership record.
    Failed,
}

impl DomainStatus {
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("pending", Self::Pending), ("verified", Self::Verified), ("failed", Self::Failed)];

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
    /// The secret in its ownership record.
    pub token: String,
    pub status: DomainStatus,
    /// The result of the last check.
    pub findings: Findings,
    /// What went wrong at the last check.
    pub problem: Option<String>,
    pub checked_at: Option<Timestamp>,
    pub verified_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// Whether a workspace may send from a domain, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sender {
    /// The server's settings allow the domain or a parent of it.
    OfChannel,
    /// The workspace verified the domain or a parent of it.
    Verified {
        domain: String,
        /// Records that the last check did not find.
        missing: Vec<Purpose>,
    },
    Unknown,
}

/// A domain and its parents, the longest first.
pub fn with_parents(domain: &str) -> Vec<String> {
    let starts = domain.match_indices('.').map(|(at, _)| at + 1);
    std::iter::once(0).chain(starts).filter_map(|at| domain.get(at..)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_listed_with_its_parents() {
        assert_eq!(with_parents("a.b.test"), ["a.b.test", "b.test", "test"]);
        assert_eq!(with_parents("localhost"), ["localhost"]);
    }
}

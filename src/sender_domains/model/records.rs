//! The DNS records of a sender domain, and which of them were found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DomainStatus, SenderDomain, name::registered, setup::SenderSetup};

/// The purpose of a record.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Proves that the workspace owns the domain.
    Ownership,
    /// Publishes the key that signs mail.
    Dkim,
    /// Lists the servers that may send for the domain.
    Spf,
    /// The policy for mail that fails authentication.
    Dmarc,
}

impl Purpose {
    /// The purpose as people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ownership => "ownership",
            Self::Dkim => "DKIM",
            Self::Spf => "SPF",
            Self::Dmarc => "DMARC",
        }
    }
}

/// Whether a record was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Found)]
pub enum RecordStatus {
    Unchecked,
    Found,
    /// There is no such record, or its text differs.
    Missing,
    /// DNS gave no answer.
    NoAnswer,
}

/// The results of a check.
pub type Findings = BTreeMap<Purpose, RecordStatus>;

/// A DNS record to set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Record {
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The name of the record.
    pub name: String,
    /// Its text. A text above 255 bytes is split into several strings of one record.
    pub value: String,
    /// The purpose of the record.
    pub purpose: Purpose,
    /// Whether the last check found it.
    pub status: RecordStatus,
}

/// The records of a domain under this server's settings.
pub fn records(domain: &SenderDomain, setup: &SenderSetup) -> Vec<Record> {
    let name = &domain.domain;
    let ownership = (
        Purpose::Ownership,
        format!("_millrace.{name}"),
        format!("millrace-verification={}", domain.token),
    );
    let dkim = setup.dkim.as_ref().map(|key| {
        (Purpose::Dkim, format!("{}._domainkey.{name}", key.selector), key.record.clone())
    });
    let spf = setup
        .spf_include
        .as_ref()
        .map(|include| (Purpose::Spf, name.clone(), format!("v=spf1 include:{include} ~all")));
    let dmarc = (Purpose::Dmarc, format!("_dmarc.{name}"), "v=DMARC1; p=none".to_owned());
    let all = [Some(ownership), dkim, spf, Some(dmarc)].into_iter().flatten();
    all.map(|(purpose, name, value)| Record {
        kind: "TXT",
        name,
        value,
        purpose,
        status: domain.findings.get(&purpose).copied().unwrap_or(RecordStatus::Unchecked),
    })
    .collect()
}

impl Record {
    /// The names to look up: one match is enough.
    pub fn names(&self, domain: &str) -> Vec<String> {
        let mut names = vec![self.name.clone()];
        // RFC 7489 6.6.3: a subdomain without a policy has that of the registered domain.
        if let Some(registered) = registered(domain)
            && self.purpose == Purpose::Dmarc
            && registered != domain
        {
            names.push(format!("_dmarc.{registered}"));
        }
        names
    }

    /// Whether a text found at its name matches this record.
    pub fn is_met_by(&self, text: &str) -> bool {
        let text = text.trim();
        match self.purpose {
            Purpose::Ownership => text == self.value,
            Purpose::Dkim => key_of(text).is_some() && key_of(text) == key_of(&self.value),
            Purpose::Spf => {
                let includes = self.value.split_whitespace().nth(1);
                is_version(text, "v=spf1")
                    && text.split_whitespace().any(|term| {
                        includes.is_some_and(|includes| {
                            term.trim_start_matches('+').eq_ignore_ascii_case(includes)
                        })
                    })
            }
            Purpose::Dmarc => is_version(text, "v=DMARC1"),
        }
    }
}

fn is_version(text: &str, version: &str) -> bool {
    let first = text.split(|c: char| c == ';' || c.is_whitespace()).next();
    first.is_some_and(|first| first.eq_ignore_ascii_case(version))
}

/// The key in a DKIM record without whitespace.
fn key_of(text: &str) -> Option<String> {
    let tags = text.split(';').filter_map(|tag| tag.split_once('='));
    let (_, key) = tags.into_iter().find(|(name, _)| name.trim() == "p")?;
    let key: String = key.chars().filter(|c| !c.is_whitespace()).collect();
    (!key.is_empty()).then_some(key)
}

/// The status after a check of the ownership record; none if it does not change.
pub const fn status_of(ownership: RecordStatus) -> Option<DomainStatus> {
    match ownership {
        RecordStatus::Found => Some(DomainStatus::Verified),
        RecordStatus::Missing => Some(DomainStatus::Failed),
        RecordStatus::NoAnswer | RecordStatus::Unchecked => None,
    }
}

#[cfg(test)]
mod tests {
    use kernel::{SenderDomainId, Timestamp};

    use super::{
        super::{DkimKey, SenderDomain},
        *,
    };

    fn domain(name: &str) -> SenderDomain {
        SenderDomain {
            id: SenderDomainId::mint(Timestamp::from_millis(0)),
            domain: name.to_owned(),
            token: "t0ken".to_owned(),
            status: DomainStatus::Pending,
            findings: Findings::from([(Purpose::Spf, RecordStatus::Missing)]),
            problem: None,
            checked_at: None,
            verified_at: None,
            created_at: Timestamp::from_millis(0),
        }
    }

    fn of(setup: &SenderSetup, purpose: Purpose) -> Option<Record> {
        records(&domain("news.acme.test"), setup).into_iter().find(|it| it.purpose == purpose)
    }

    fn whole() -> SenderSetup {
        SenderSetup {
            domains: vec!["example.test".to_owned()],
            dkim: Some(DkimKey {
                domain: "example.test".to_owned(),
                selector: "s1".to_owned(),
                record: "v=DKIM1; k=ed25519; p=AAAA".to_owned(),
            }),
            spf_include: Some("example.test".to_owned()),
        }
    }

    #[test]
    fn records_depend_on_the_channels_settings() {
        let shown: Vec<_> = records(&domain("news.acme.test"), &whole())
            .into_iter()
            .map(|it| (it.name, it.value, it.status))
            .collect();
        let record = |name: &str, value: &str, status| (name.to_owned(), value.to_owned(), status);
        assert_eq!(
            shown,
            [
                record(
                    "_millrace.news.acme.test",
                    "millrace-verification=t0ken",
                    RecordStatus::Unchecked
                ),
                record(
                    "s1._domainkey.news.acme.test",
                    "v=DKIM1; k=ed25519; p=AAAA",
                    RecordStatus::Unchecked
                ),
                record("news.acme.test", "v=spf1 include:example.test ~all", RecordStatus::Missing),
                record("_dmarc.news.acme.test", "v=DMARC1; p=none", RecordStatus::Unchecked),
            ]
        );
        let none = SenderSetup::default();
        assert!(of(&none, Purpose::Dkim).is_none() && of(&none, Purpose::Spf).is_none());
    }

    #[test]
    fn equivalent_texts_match_a_record() {
        let met = |purpose, text: &str| of(&whole(), purpose).unwrap().is_met_by(text);
        assert!(met(Purpose::Ownership, " millrace-verification=t0ken "));
        assert!(!met(Purpose::Ownership, "millrace-verification=T0KEN"));
        assert!(met(Purpose::Dkim, "v=DKIM1; t=s; p=AA AA"));
        assert!(!met(Purpose::Dkim, "v=DKIM1; p=") && !met(Purpose::Dkim, "v=DKIM1; p=BBBB"));
        assert!(met(Purpose::Spf, "V=SPF1 ip4:192.0.2.1 +INCLUDE:example.test -all"));
        assert!(
            !met(Purpose::Spf, "v=spf1 -all") && !met(Purpose::Spf, "v=spf10 include:example.test")
        );
        assert!(met(Purpose::Dmarc, "v=DMARC1;p=reject") && !met(Purpose::Dmarc, "v=DMARC10"));
        let dmarc = of(&whole(), Purpose::Dmarc).unwrap();
        assert_eq!(dmarc.names("news.acme.test"), ["_dmarc.news.acme.test", "_dmarc.acme.test"]);
    }

    #[test]
    fn lookups_without_an_answer_change_no_status() {
        assert_eq!(status_of(RecordStatus::Found), Some(DomainStatus::Verified));
        assert_eq!(status_of(RecordStatus::Missing), Some(DomainStatus::Failed));
        assert_eq!(status_of(RecordStatus::NoAnswer), None);
    }
}

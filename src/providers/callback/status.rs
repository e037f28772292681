//! Enhanced status codes (RFC 3463), and whether they mean that an address does not exist.

use crate::model::BounceKind;

/// A code: class, subject, detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// 2, 4 or 5.
    pub class: u8,
    subject: u16,
    detail: u16,
}

/// Subjects and details of the class 5 for which the address may exist: the message is too large or unwanted, the
/// mailbox is full, the route too long.
const NOT_THE_ADDRESS: &[(u16, Option<u16>)] = &[
    (2, Some(2)), // mailbox full
    (2, Some(3)), // longer than the mailbox takes
    (3, Some(4)), // too big for the system
    (4, Some(6)), // routing loop
    (4, Some(7)), // delivery time expired
    (6, None),    // of the content
    (7, None),    // of security or policy: a block
];

impl Status {
    /// Reads a code at the beginning of a text: `5.1.1`, `5.1.1 (bad destination)`.
    pub fn read(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let mut parts = text.get(..end)?.trim_end_matches('.').split('.');
        let class = parts.next()?.parse().ok().filter(|class| [2, 4, 5].contains(class))?;
        let subject = parts.next()?.parse().ok().filter(|subject| *subject <= 999)?;
        let detail = parts.next()?.parse().ok().filter(|detail| *detail <= 999)?;
        parts.next().is_none().then_some(Self { class, subject, detail })
    }

    /// The first code in a text, as servers put it behind the reply code: `smtp; 550 5.1.1 no such user`,
    /// `550-5.1.1 The email account`. If there is only a reply code, its class.
    pub fn within(text: &str) -> Option<Self> {
        let words = || {
            text.split(|c: char| {
                c.is_whitespace() || matches!(c, '-' | '(' | ')' | ';' | '#' | ':' | '<')
            })
        };
        let enhanced = words().find_map(|word| {
            let whole = word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            Self::read(word).filter(|_| whole)
        });
        enhanced.or_else(|| {
            words().find_map(|word| {
                let code: u16 = word.parse().ok().filter(|code| (400..=599).contains(code))?;
                let class = if code < 500 { 4 } else { 5 };
                Some(Self { class, subject: 0, detail: 0 })
            })
        })
    }

    /// Whether it has no more than a class.
    pub const fn is_unspecific(self) -> bool {
        self.subject == 0 && self.detail == 0
    }

    /// The kind of bounce that it means.
    pub fn bounce(self) -> BounceKind {
        let excused = NOT_THE_ADDRESS.iter().any(|(subject, detail)| {
            *subject == self.subject && detail.is_none_or(|detail| detail == self.detail)
        });
        if self.class == 5 && !excused { BounceKind::Hard } else { BounceKind::Soft }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.class, self.subject, self.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_where_servers_put_them() {
        for (text, code) in [
            ("5.1.1", Some("5.1.1")),
            ("5.1.10 (RESOLVER.ADR.RecipientNotFound; not found)", Some("5.1.10")),
            ("5.1", None),
            ("1.1.1", None),
            ("5.1.1.1", None),
            ("5.1000.1", None),
            ("", None),
        ] {
            assert_eq!(Status::read(text).map(|s| s.to_string()).as_deref(), code, "{text}");
        }
        for (text, code) in [
            ("smtp; 550 5.1.1 <a@b.test>: Recipient address rejected", Some("5.1.1")),
            ("smtp; 550-5.1.1 The email account that you tried to reach", Some("5.1.1")),
            ("550 #5.7.1 blocked", Some("5.7.1")),
            ("x-unix; 10.0.0.1 answered 452", Some("4.0.0")),
            ("SMTP error: host 10.2.3.4: 550 Unrouteable address", Some("5.0.0")),
            ("no code here", None),
        ] {
            assert_eq!(Status::within(text).map(|s| s.to_string()).as_deref(), code, "{text}");
        }
    }

    #[test]
    fn only_codes_about_the_address_are_hard_bounces() {
        let kind = |code| Status::read(code).unwrap().bounce();
        for hard in ["5.0.0", "5.1.1", "5.1.2", "5.1.10", "5.2.1", "5.4.1", "5.4.4", "5.5.0"] {
            assert_eq!(kind(hard), BounceKind::Hard, "{hard}");
        }
        for soft in
            ["4.2.2", "4.4.7", "5.2.2", "5.2.3", "5.3.4", "5.4.7", "5.6.1", "5.7.1", "5.7.26"]
        {
            assert_eq!(kind(soft), BounceKind::Soft, "{soft}");
        }
    }
}

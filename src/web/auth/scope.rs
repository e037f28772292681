//! Scopes: what a credential may do. Every scope has a name and a type, so that a handler's argument shows
//! which scope it needs.

use std::{fmt, str::FromStr};

use kernel::fields::{Field, Presence};

macro_rules! scopes {
    ($($type:ident = $name:literal: $doc:literal;)*) => {
        /// The name of a scope.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ScopeName {
            $(#[doc = $doc] $type,)*
        }

        impl ScopeName {
            pub const ALL: &'static [Self] = &[$(Self::$type,)*];

            /// The scope in its text form.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$type => $name,)*
                }
            }
        }

        $(
            #[doc = $doc]
            #[derive(Debug, Clone, Copy)]
            pub struct $type;

            impl Scope for $type {
                const NAME: ScopeName = ScopeName::$type;
            }
        )*
    };
}

/// A scope as the type of an argument: `Caller<scope::EventsWrite>`.
pub trait Scope: Send + Sync + 'static {
    const NAME: ScopeName;
}

scopes! {
    UsersRead = "users:read": "Read profiles, deleted ones, and a user's events, messages and devices.";
    UsersWrite = "users:write": "Create and change profiles.";
    UsersDelete = "users:delete": "Delete profiles.";
    EventsRead = "events:read": "Query and aggregate events, read refused ones and dead letters.";
    EventsWrite = "events:write": "Track events.";
    ComplianceRead = "compliance:read": "Read consent and its history.";
    ComplianceWrite = "compliance:write": "Change consent and list membership.";
    SettingsRead = "settings:read": "Read lists, the preference page, sender domains, keys, members and the audit log.";
    SettingsWrite = "settings:write": "Change lists, the preference page, sender domains and members, make and revoke keys, retry dead letters.";
    CampaignsRead = "campaigns:read": "Read campaigns and their reports.";
    CampaignsWrite = "campaigns:write": "Create and change campaigns.";
    CampaignsSend = "campaigns:send": "Make messages leave, or stop them.";
    CampaignsDelete = "campaigns:delete": "Delete campaigns.";
    EmailSuppressionRead = "email_suppression:read": "Read suppressed addresses.";
    EmailSuppressionWrite = "email_suppression:write": "Change suppressed addresses.";
    SmsSuppressionRead = "sms_suppression:read": "Read suppressed phone numbers.";
    SmsSuppressionWrite = "sms_suppression:write": "Change suppressed phone numbers.";
    AnalyticsSql = "analytics:sql": "Ask in SQL: everything of the workspace that the views show, profiles included.";
}

impl ScopeName {
    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

const _: () = assert!(ScopeName::ALL.len() <= u32::BITS as usize, "a scope is one bit");

/// A set of scopes. Its text form is a comma-separated list, in which `*` is every scope and `campaigns:*`
/// every scope of that family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ScopeSet(u32);

/// The text is not a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown scope \"{0}\": the scopes are *, {all}", all = all_names())]
pub struct UnknownScope(String);

fn all_names() -> String {
    ScopeName::ALL.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ")
}

/// Most elements of a list of scopes as sent; repeated ones count once.
const SENT_MAX: usize = 100;

/// Reads a field with a list of scopes, `campaigns:*` and `*` included: a set for each element.
pub fn scopes_of<P: Presence>(field: Field<'_, P>) -> P::Out<Vec<ScopeSet>> {
    field.list(0..=SENT_MAX, |item| {
        item.parsed(ScopeSet::NONE, |text| match text.parse::<ScopeSet>() {
            Ok(scopes) if !scopes.is_empty() && !text.contains(',') => Ok(scopes),
            _ => Err(format!("must be one of: *, {}", all_names())),
        })
    })
}

impl ScopeSet {
    /// No scope, as for SDK keys.
    pub const NONE: Self = Self(0);

    /// Every scope of this version.
    pub fn all() -> Self {
        Self::of(ScopeName::ALL)
    }

    pub fn of(scopes: &[ScopeName]) -> Self {
        Self(scopes.iter().fold(0, |bits, scope| bits | scope.bit()))
    }

    /// Whether a scope is in the set.
    pub const fn has(self, scope: ScopeName) -> bool {
        self.0 & scope.bit() != 0
    }

    /// The first scope of another set that this one lacks.
    pub fn lacked_of(self, other: Self) -> Option<ScopeName> {
        other.names().find(|scope| !self.has(*scope))
    }

    /// The scopes of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The scopes of all these sets.
    pub fn all_of(sets: impl IntoIterator<Item = Self>) -> Self {
        sets.into_iter().fold(Self::NONE, Self::with)
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The scopes of one item of a list.
    fn of_item(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::all());
        }
        let family = text.strip_suffix('*');
        let named: Vec<ScopeName> = ScopeName::ALL
            .iter()
            .copied()
            .filter(|scope| match family {
                Some(family) => family.ends_with(':') && scope.as_str().starts_with(family),
                None => scope.as_str() == text,
            })
            .collect();
        (!named.is_empty()).then(|| Self::of(&named))
    }

    /// The items to store. Every scope is `*`, so that those of later versions are included.
    pub fn to_stored(self) -> Vec<String> {
        if self == Self::all() {
            return vec!["*".to_owned()];
        }
        self.names().map(|name| name.as_str().to_owned()).collect()
    }

    /// The scopes of the set, in the order of their list.
    pub fn names(self) -> impl Iterator<Item = ScopeName> {
        ScopeName::ALL.iter().copied().filter(move |scope| self.has(*scope))
    }

    /// Reads stored items. An item that this version does not know grants nothing.
    pub fn of_stored<T: AsRef<str>>(items: &[T]) -> Self {
        let known = items.iter().filter_map(|item| Self::of_item(item.as_ref()));
        Self(known.fold(0, |bits, set| bits | set.0))
    }
}

impl FromStr for ScopeSet {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        let mut set = Self::NONE;
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let part = Self::of_item(item).ok_or_else(|| UnknownScope(item.to_owned()))?;
            set.0 |= part.0;
        }
        Ok(set)
    }
}

impl fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for scope in self.names() {
            write!(f, "{separator}{}", scope.as_str())?;
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_list_is_read_with_its_wildcards() {
        let set: ScopeSet = "events:write, campaigns:*,".parse().unwrap();
        assert_eq!(
            set.to_string(),
            "events:write,campaigns:read,campaigns:write,campaigns:send,campaigns:delete"
        );
        assert_eq!("*".parse(), Ok(ScopeSet::all()));
        assert!("".parse::<ScopeSet>().unwrap().is_empty());
    }

    #[test]
    fn a_wildcard_stays_in_its_family() {
        let set: ScopeSet = "sms_suppression:*".parse().unwrap();
        assert!(set.has(ScopeName::SmsSuppressionRead) && set.has(ScopeName::SmsSuppressionWrite));
        assert!(!set.has(ScopeName::EmailSuppressionRead) && !set.has(ScopeName::EventsRead));
    }

    #[test]
    fn unknown_scopes_are_refused() {
        for text in
            ["events", "events:", "event:*", "e*", "**", "Events:write", "events:write:x", ":*"]
        {
            let refused = text.parse::<ScopeSet>().unwrap_err();
            assert!(refused.to_string().contains(text), "{refused}");
        }
    }

    #[test]
    fn every_scope_is_stored_as_the_wildcard() {
        assert_eq!(ScopeSet::all().to_stored(), ["*"]);
        let some: ScopeSet = "users:read,events:write".parse().unwrap();
        assert_eq!(some.to_stored(), ["users:read", "events:write"]);
        assert!(ScopeSet::NONE.to_stored().is_empty());
    }

    #[test]
    fn a_stored_scope_of_a_newer_version_grants_nothing() {
        assert_eq!(
            ScopeSet::of_stored(&["journeys:write", "users:read"]).to_string(),
            "users:read"
        );
        assert!(ScopeSet::of_stored::<&str>(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn a_set_is_read_back_from_its_text(bits in 0..1_u32 << ScopeName::ALL.len()) {
            let set = ScopeSet(bits);
            prop_assert_eq!(set.to_string().parse::<ScopeSet>().unwrap(), set);
        }
    }
}

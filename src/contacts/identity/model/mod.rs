//! Identifiers of a profile, and the rules by which they are linked.

use std::fmt;

use kernel::{Timestamp, UserId};
use serde::Serialize;
use utoipa::ToSchema;

/// Identifiers of one profile, its internal and its external id among them.
pub const IDENTIFIERS_MAX: usize = 1000;
/// Anonymous ids of one profile that public keys linked: the rest is for servers.
pub const PUBLIC_LINKS_MAX: usize = 500;
/// Characters of an identifier.
pub const IDENTIFIER_CHARS_MAX: usize = 255;
/// Hexadecimal digits of a random id: those of a UUID.
const RANDOM_DIGITS_MIN: usize = 32;
/// Links of one call.
pub const LINKS_MAX: usize = 10_000;
/// Identifiers that one call removes by their names: all that a profile can have.
pub const REMOVED_MAX: usize = IDENTIFIERS_MAX;

/// What an identifier is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum IdentifierType {
    /// An id that the caller chose for a profile.
    External,
    /// An id that this service chose for a profile.
    Internal,
    /// An id of events without a user.
    Anonymous,
    /// A further id that the caller chose for a profile.
    Alias,
}

impl IdentifierType {
    const ALL: [Self; 4] = [Self::External, Self::Internal, Self::Anonymous, Self::Alias];

    /// The type as the API and the databases write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::External => "external",
            Self::Internal => "internal",
            Self::Anonymous => "anonymous",
            Self::Alias => "alias",
        }
    }

    /// The type with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// What linked an identifier to its profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinkSource {
    /// An `identify` with both a user id and an anonymous id.
    Identify,
    Alias,
    /// A merge of two profiles.
    Merge,
    /// The profile itself: its internal id, and the external id that it has.
    Profile,
}

impl LinkSource {
    const ALL: [Self; 4] = [Self::Identify, Self::Alias, Self::Merge, Self::Profile];

    /// The source as the API and the database write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Identify => "identify",
            Self::Alias => "alias",
            Self::Merge => "merge",
            Self::Profile => "profile",
        }
    }

    /// The source with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == name)
    }
}

/// An identifier of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub kind: IdentifierType,
    pub id: String,
    pub linked_at: Timestamp,
    pub source: LinkSource,
}

/// An anonymous id that is to be linked to a profile.
#[derive(Debug, Clone, Copy)]
pub struct Link<'l> {
    pub anonymous_id: &'l str,
    /// The profile; a merged one stands for its survivor.
    pub user: UserId,
    pub source: LinkSource,
    pub at: Timestamp,
    /// What its caller is trusted with.
    pub trust: Trust,
    /// When its call was applied, where it was before: what was removed since then is not linked again.
    pub applied_at: Option<Timestamp>,
}

impl Link<'_> {
    /// Whether the anonymous id also stands for the profile as the `userId` of events. A public key must not claim the
    /// ids under which a server tracks people, so that no one else may know it.
    pub fn names_users(&self) -> bool {
        self.trust == Trust::Server || is_random(self.anonymous_id)
    }
}

/// Whether an id is a long random number, as SDKs make up for visitors: at least [`RANDOM_DIGITS_MIN`] hexadecimal digits,
/// with dashes or without.
pub fn is_random(id: &str) -> bool {
    let digits = id.bytes().filter(u8::is_ascii_hexdigit).count();
    let others = id.bytes().filter(|byte| !byte.is_ascii_hexdigit());
    digits >= RANDOM_DIGITS_MIN && others.eq(std::iter::repeat_n(b'-', id.len() - digits))
}

/// The outcome of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linked {
    /// It is linked now.
    New,
    /// It was linked to this profile before.
    Known,
    /// It was linked to another profile before, and stays there.
    OfAnother(UserId),
    /// The profile has [`IDENTIFIERS_MAX`] identifiers.
    Full,
    /// Likewise, or it has [`PUBLIC_LINKS_MAX`] that public keys linked, as this one would be.
    PublicFull,
    /// Its call was applied before, and it was removed from its profile after that.
    Removed,
    /// There is no such active profile.
    NoProfile,
    /// It is empty, has more than [`IDENTIFIER_CHARS_MAX`] characters, or has a NUL character.
    Unusable,
}

impl Linked {
    /// Whether there was no room for it.
    pub const fn is_full(self) -> bool {
        matches!(self, Self::Full | Self::PublicFull)
    }

    /// Whether the anonymous id belongs to the profile that was asked for.
    pub const fn is_linked(self) -> bool {
        matches!(self, Self::New | Self::Known)
    }

    /// The outcome in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Known => "known",
            Self::OfAnother(_) => "of_another",
            Self::Full | Self::PublicFull => "full",
            Self::Removed => "removed",
            Self::NoProfile => "no_profile",
            Self::Unusable => "unusable",
        }
    }
}

impl fmt::Display for Linked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("linked"),
            Self::Known => f.write_str("linked before"),
            Self::OfAnother(_) => f.write_str("anonymousId is linked to another profile"),
            Self::Full => {
                write!(f, "the profile has {IDENTIFIERS_MAX} identifiers, the most it may have")
            }
            Self::PublicFull => write!(
                f,
                "the profile has {IDENTIFIERS_MAX} identifiers, or {PUBLIC_LINKS_MAX} that SDK keys linked, the most it may have"
            ),
            Self::Removed => {
                f.write_str("anonymousId was removed from its profile after this call")
            }
            Self::NoProfile => f.write_str("no active profile has this id"),
            Self::Unusable => write!(
                f,
                "anonymousId must have 1 to {IDENTIFIER_CHARS_MAX} characters, none of them NUL"
            ),
        }
    }
}

/// Whether a text can be an identifier.
pub fn is_usable(id: &str) -> bool {
    !id.is_empty() && !id.contains('\0') && id.chars().count() <= IDENTIFIER_CHARS_MAX
}

/// Who sends an alias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// A caller with an API key.
    Server,
    /// A caller with an SDK key, which is in every copy of an app.
    Public,
}

/// An alias: both ids are of one person.
#[derive(Debug, Clone, Copy)]
pub struct Alias<'a> {
    pub previous: &'a str,
    pub user: &'a str,
}

/// The outcome of an alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Aliased {
    /// `previous` is an anonymous id; whether it is linked to the profile of `user` now.
    Linked { user: UserId, linked: Linked },
    /// The profile of `previous` has the id `user`, too.
    Named(UserId),
    /// The profile of `previous` was merged into that of `user`.
    Merged(UserId),
    /// Both ids were of one profile before.
    Known(UserId),
    /// Nothing was changed, for this reason.
    Refused(AliasRefusal),
}

/// Why an alias changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AliasRefusal {
    /// `previous` has a profile, and the caller has a public key.
    PublicKey,
    /// `previous` has a profile, and `user` is an anonymous id of another.
    LinkedToAnother,
    /// One of the ids is no identifier.
    Unusable,
    /// The merged profile would break a limit, named here.
    Limit(String),
}

impl fmt::Display for AliasRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PublicKey => {
                f.write_str("previousId has a profile, which an SDK key never merges or renames")
            }
            Self::LinkedToAnother => f.write_str(
                "userId is linked to another profile as an anonymous id: merge the profiles, or remove it there",
            ),
            Self::Unusable => write!(
                f,
                "previousId and userId must have 1 to {IDENTIFIER_CHARS_MAX} characters, none of them NUL"
            ),
            Self::Limit(reason) => f.write_str(reason),
        }
    }
}

/// Two profiles that are to become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfilePair {
    /// The profile that ends.
    pub from: UserId,
    /// The profile that stays, the survivor.
    pub into: UserId,
}

/// The outcome of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    pub survivor: UserId,
    /// Whether they were two profiles before.
    pub is_new: bool,
}

/// Which identifiers a profile is to lose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// Those of these anonymous ids and aliases that it has.
    Ids(Vec<String>),
    /// Every anonymous id that an SDK key linked to it.
    LinkedBySdkKeys,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for kind in IdentifierType::ALL {
            assert_eq!(IdentifierType::named(kind.as_str()), Some(kind));
            assert_eq!(serde_json::json!(kind), kind.as_str());
        }
        for source in LinkSource::ALL {
            assert_eq!(LinkSource::named(source.as_str()), Some(source));
            assert_eq!(serde_json::json!(source), source.as_str());
        }
        assert_eq!(IdentifierType::named("Alias"), None);
    }

    #[test]
    fn ids_that_sdks_make_up_are_random() {
        for (id, expected) in [
            ("0198c5a4-8f3e-7c1b-9d2a-5b6c7d8e9f01", true),
            ("0198C5A48F3E7C1B9D2A5B6C7D8E9F01", true),
            ("17e8b5f2a3c4d5-0b1c2d3e4f5061-1f2e3d4c-1fa400-17e8b5f2a3d5e6", true),
            ("1001", false),
            ("deadbeef", false),
            ("ann@example.test", false),
            ("user-0198c5a48f3e7c1b9d2a5b6c7d8e9f01", false),
            ("--------------------------------", false),
            ("", false),
        ] {
            assert_eq!(is_random(id), expected, "{id:?}");
        }
    }

    #[test]
    fn an_identifier_has_a_length_and_no_nul() {
        let most = "é".repeat(IDENTIFIER_CHARS_MAX);
        for (id, expected) in [
            ("a", true),
            ("", false),
            (most.as_str(), true),
            (format!("{most}a").as_str(), false),
            ("a\0b", false),
        ] {
            assert_eq!(is_usable(id), expected, "{id:?}");
        }
    }
}

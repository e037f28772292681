//! Identifiers: one type a noun, so that no two can be swapped.

use std::{
    fmt,
    str::FromStr,
    sync::atomic::{AtomicU32, Ordering},
};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::Timestamp;

/// The text is not an identifier of the kind expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not {0}")]
pub struct MalformedId(&'static str);

impl MalformedId {
    /// The text is not this.
    pub(super) const fn new(expected: &'static str) -> Self {
        Self(expected)
    }
}

macro_rules! uuid_id {
    ($name:ident, $noun:literal) => {
        #[doc = concat!("Identifies ", $noun, ".")]
        #[derive(
            Debug,
            Clone,
            Copy,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            Serialize,
            Deserialize,
            ToSchema,
        )]
        #[serde(transparent)]
        #[schema(value_type = String, format = Uuid)]
        pub struct $name(Uuid);

        impl $name {
            /// Takes a UUID read from a store.
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// A new identifier that sorts by the time it was made (UUID v7).
            pub fn mint(now: Timestamp) -> Self {
                let ms = u64::try_from(now.millis()).unwrap_or(0);
                Self(uuid::Builder::from_unix_timestamp_millis(ms, &rand::random()).into_uuid())
            }

            /// The bare UUID, for stores.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = MalformedId;

            fn from_str(text: &str) -> Result<Self, MalformedId> {
                Uuid::parse_str(text).map(Self).map_err(|_| MalformedId("a UUID"))
            }
        }
    };
}

uuid_id!(WorkspaceId, "a workspace, the wall around every row");
uuid_id!(OrganizationId, "an organization, which holds workspaces");
uuid_id!(ListId, "a subscription list");
uuid_id!(CampaignId, "a campaign");
uuid_id!(MessageId, "a message to one recipient");
uuid_id!(VersionId, "a saved version of a campaign");
uuid_id!(SenderDomainId, "a domain that a workspace sends email from");
uuid_id!(SegmentId, "a segment, which is a saved targeting");
uuid_id!(InsightId, "a saved insight");

/// The internal id of a user: 12 bytes, 24 hexadecimal characters outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String, pattern = "^[0-9a-f]{24}$")]
pub struct UserId([u8; 12]);

/// Distinguishes the ids one process mints in the same second.
static MINTED: AtomicU32 = AtomicU32::new(0);

impl UserId {
    /// Takes bytes read from a store.
    pub const fn from_bytes(bytes: [u8; 12]) -> Self {
        Self(bytes)
    }

    /// The bytes, for stores.
    pub const fn bytes(&self) -> &[u8; 12] {
        &self.0
    }

    /// A new id in the layout of BSON's ObjectId: 4 bytes of seconds, 5 random, a counter of 3,
    /// so that ids sort by the time they were made.
    pub fn mint(now: Timestamp) -> Self {
        let seconds = now.millis().div_euclid(1000).to_be_bytes();
        let count = MINTED.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let random: [u8; 5] = rand::random();
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&seconds[4..]);
        bytes[4..9].copy_from_slice(&random);
        bytes[9..].copy_from_slice(&count[1..]);
        Self(bytes)
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for UserId {
    type Err = MalformedId;

    fn from_str(text: &str) -> Result<Self, MalformedId> {
        let mut bytes = [0; 12];
        hex::decode_to_slice(text, &mut bytes)
            .map_err(|_| MalformedId("24 hexadecimal characters"))?;
        Ok(Self(bytes))
    }
}

impl Serialize for UserId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for UserId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Characters of a [`KeyId`].
const KEY_ID_CHARS: usize = 12;

/// The public half of an API or SDK key: 12 letters and digits, by which the key is looked up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; KEY_ID_CHARS]);

impl KeyId {
    /// A new random id: 62^12 of them, about 71 bits.
    pub fn mint() -> Self {
        use rand::distr::{Alphanumeric, Distribution};
        let mut rng = rand::rng();
        Self(std::array::from_fn(|_| Alphanumeric.sample(&mut rng)))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("only ASCII letters and digits get in")
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({})", self.as_str())
    }
}

impl FromStr for KeyId {
    type Err = MalformedId;

    fn from_str(text: &str) -> Result<Self, MalformedId> {
        let bytes: [u8; KEY_ID_CHARS] =
            text.as_bytes().try_into().map_err(|_| MalformedId("12 letters and digits"))?;
        if bytes.iter().all(u8::is_ascii_alphanumeric) {
            Ok(Self(bytes))
        } else {
            Err(MalformedId("12 letters and digits"))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn user_ids_are_read_in_either_case_and_written_in_lower_case() {
        let id: UserId = "65AbCdEf0123456789abcdef".parse().unwrap();
        assert_eq!(id.to_string(), "65abcdef0123456789abcdef");
    }

    #[test]
    fn malformed_ids_are_refused() {
        for text in
            ["", "65abcdef0123456789abcde", "65abcdef0123456789abcdef0", "65abcdef0123456789abcdeg"]
        {
            assert!(text.parse::<UserId>().is_err(), "{text:?}");
        }
        for text in ["", "abcdefghijk", "abcdefghijklm", "abcdefghijk_", "abcdefghijé"] {
            assert!(text.parse::<KeyId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn minted_user_ids_differ_and_sort_by_second() {
        let early = UserId::mint(Timestamp::from_millis(1_700_000_000_000));
        let late = UserId::mint(Timestamp::from_millis(1_700_000_001_000));
        assert!(early < late);
        let many: std::collections::HashSet<_> =
            (0..10_000).map(|_| UserId::mint(Timestamp::from_millis(5))).collect();
        assert_eq!(many.len(), 10_000);
    }

    proptest! {
        #[test]
        fn user_ids_survive_the_way_through_text_and_json(bytes: [u8; 12]) {
            let id = UserId::from_bytes(bytes);
            prop_assert_eq!(id.to_string().parse::<UserId>().unwrap(), id);
            let json = serde_json::to_string(&id).unwrap();
            prop_assert_eq!(serde_json::from_str::<UserId>(&json).unwrap(), id);
        }

        #[test]
        fn key_ids_survive_the_way_through_text(text in "[0-9A-Za-z]{12}") {
            prop_assert_eq!(text.parse::<KeyId>().unwrap().to_string(), text);
        }

        #[test]
        fn workspace_ids_survive_the_way_through_text(bits: u128) {
            let id = WorkspaceId::new(Uuid::from_u128(bits));
            prop_assert_eq!(id.to_string().parse::<WorkspaceId>().unwrap(), id);
        }
    }

    #[test]
    fn minted_key_ids_parse() {
        let id = KeyId::mint();
        assert_eq!(id.to_string().parse::<KeyId>().unwrap(), id);
    }
}

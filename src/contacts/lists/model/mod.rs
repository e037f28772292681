//! Subscription lists, and the request bodies that create and change them.
use kernel::fields::describe::words_schema;
use kernel::{
    Channel, ListId, Timestamp,
    fields::{Field, Fields, Presence},
    schema::{NAME_CHARS_MAX, Name},
};

use crate::consent::model::MembershipStatus;

/// Characters of a description.
pub const DESCRIPTION_CHARS_MAX: usize = 1000;
/// Most lists in one answer.
pub const LISTS_MAX: i64 = 200;
/// Most contacts in one bulk call.
pub const BULK_CONTACTS_MAX: usize = 10_000;
/// Most elements of `channels` as sent; repeated ones are dropped afterwards.
const CHANNELS_SENT_MAX: usize = 100;

/// The purpose of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    Marketing,
    /// Messages about a purchase or an account.
    Transactional,
}

impl ListKind {
    /// The names of the purposes in request bodies.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("marketing", Self::Marketing), ("transactional", Self::Transactional)];

    /// The purpose as the API and the database write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Marketing => "marketing",
            Self::Transactional => "transactional",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    pub id: ListId,
    /// Unique among the workspace's active lists, case-insensitively.
    pub name: String,
    /// What recipients read below the name.
    pub description: String,
    /// The channels it is offered on.
    pub channels: Vec<Channel>,
    /// Whether the preference page shows it.
    pub is_public: bool,
    pub kind: ListKind,
    /// Whether a subscription from a form or the preference page waits for a confirmation.
    pub require_double_opt_in: bool,
    /// Whether it was created with the workspace.
    pub is_default: bool,
    /// The position on the preference page, ascending.
    pub display_order: i32,
    /// The sender that the list is bound to, for a group of one phone number.
    pub sender_id: Option<String>,
    /// When it was archived.
    pub archived_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

words_schema!(
    /// What a list is for.
    for ListKind as "ListKind", ListKind::NAMED
);

/// The description of `requireDoubleOptIn`.
const DOUBLE_OPT_IN: &str =
    "Whether a subscription from a form or the preference page waits for a confirmation.";

/// A list to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewList {
    pub name: String,
    /// What recipients read below the name.
    pub description: String,
    /// The channels it is offered on, each once.
    pub channels: Vec<Channel>,
    /// Whether the preference page shows it.
    pub is_public: bool,
    pub kind: ListKind,
    /// Whether a subscription from a form waits for a confirmation.
    pub require_double_opt_in: bool,
}

/// The fields of a list to change; `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListPatch {
    /// A new name, trimmed.
    pub name: Option<String>,
    /// A new description; null clears it.
    pub description: Option<String>,
    /// New channels, each once.
    pub channels: Option<Vec<Channel>>,
    /// Whether the preference page shows it.
    pub is_public: Option<bool>,
    pub kind: Option<ListKind>,
    /// Whether a subscription from a form waits for a confirmation.
    pub require_double_opt_in: Option<bool>,
}

impl ListPatch {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl NewList {
    /// Reads the list from a body.
    pub fn read(body: &mut Fields<'_>) -> Self {
        Self {
            name: name(body.required("name")),
            description: body
                .optional("description")
                .text(0..=DESCRIPTION_CHARS_MAX)
                .unwrap_or_default(),
            channels: channels(body, "Default `[email]`.").unwrap_or_else(|| vec![Channel::Email]),
            is_public: body
                .optional("isPublic")
                .about("Whether the preference page shows it; default true.")
                .bool()
                .unwrap_or(true),
            kind: body
                .optional("type")
                .about("`marketing` (default) or `transactional`.")
                .as_type::<ListKind>()
                .one_of(ListKind::NAMED)
                .unwrap_or(ListKind::Marketing),
            require_double_opt_in: body
                .optional("requireDoubleOptIn")
                .about(DOUBLE_OPT_IN)
                .bool()
                .unwrap_or(false),
        }
    }
}

impl ListPatch {
    /// Reads the change from a body.
    pub fn read(body: &mut Fields<'_>) -> Self {
        Self {
            name: name(body.optional("name")),
            description: body
                .patch("description")
                .about("Null clears it.")
                .text(0..=DESCRIPTION_CHARS_MAX)
                .or_empty(),
            channels: channels(body, "Each once."),
            is_public: body
                .optional("isPublic")
                .about("Whether the preference page shows it.")
                .bool(),
            kind: body.optional("type").as_type::<ListKind>().one_of(ListKind::NAMED),
            require_double_opt_in: body.optional("requireDoubleOptIn").about(DOUBLE_OPT_IN).bool(),
        }
    }
}

/// A name is measured and stored without surrounding spaces.
fn name<P: Presence>(field: Field<'_, P>) -> P::Out<String> {
    let field =
        field.about("Unique among the workspace's active lists, case aside.").as_type::<Name>();
    field.parsed(String::new(), |sent| {
        let name = sent.trim();
        match name.chars().count() {
            0 => Err("must not be empty".to_owned()),
            1..=NAME_CHARS_MAX => Ok(name.to_owned()),
            _ => Err(format!("must be at most {NAME_CHARS_MAX} characters")),
        }
    })
}

/// Each channel once, in the order of first occurrence.
fn channels(body: &mut Fields<'_>, about: &'static str) -> Option<Vec<Channel>> {
    let sent = body
        .optional("channels")
        .about(about)
        .list(1..=CHANNELS_SENT_MAX, |item| item.as_type::<Channel>().one_of(Channel::NAMED))?;
    let mut channels = Vec::new();
    for channel in sent {
        if !channels.contains(&channel) {
            channels.push(channel);
        }
    }
    Some(channels)
}

/// The filter and page of a request for memberships.
#[derive(Debug, Clone, Copy)]
pub struct MemberFilter {
    pub channel: Option<Channel>,
    pub status: Option<MembershipStatus>,
    /// Most rows of the page.
    pub limit: u32,
    pub offset: u64,
}

/// Counts of a list's memberships.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Subscribed memberships by channel, in the order of [`Channel::ALL`].
    pub by_channel: [i64; Channel::ALL.len()],
    pub subscribed: i64,
    pub unsubscribed: i64,
}

//! A request to erase or export what is stored of a person.

use std::fmt;

use kernel::{
    EmailAddress, Timestamp, UserId,
    fields::{
        Fields, FromFields,
        describe::{described, words_schema},
    },
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::Step;

/// Most characters of an identifier.
const IDENTIFIER_CHARS_MAX: usize = 255;

/// Names a privacy request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, format = Uuid)]
pub struct RequestId(Uuid);

impl RequestId {
    pub const fn new(uuid: Uuid) -> Self {
        Self(uuid)
    }

    pub const fn uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is done with the data of the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Erase,
    Export,
}

/// The kinds by their names.
pub const KINDS: &[(&str, Kind)] = &[("erase", Kind::Erase), ("export", Kind::Export)];

/// What an erasure does with events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventsFate {
    Delete,
    Anonymize,
}

/// What becomes of events, by names.
pub const EVENTS_FATES: &[(&str, EventsFate)] =
    &[("delete", EventsFate::Delete), ("anonymize", EventsFate::Anonymize)];

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Pending,
    Running,
    Done,
    Failed,
}

/// The states by their names.
pub const STATES: &[(&str, State)] = &[
    ("pending", State::Pending),
    ("running", State::Running),
    ("done", State::Done),
    ("failed", State::Failed),
];

words_schema!(
    /// What is done with the data of the person.
    KindWord as "PrivacyRequestType", KINDS
);
words_schema!(
    /// What an erasure does with events.
    EventsWord as "PrivacyRequestEvents", EVENTS_FATES
);

impl Kind {
    pub fn as_str(self) -> &'static str {
        kernel::fields::word_for(KINDS, self)
    }

    pub fn named(name: &str) -> Option<Self> {
        KINDS.iter().find(|(word, _)| *word == name).map(|(_, kind)| *kind)
    }
}

impl EventsFate {
    pub fn as_str(self) -> &'static str {
        kernel::fields::word_for(EVENTS_FATES, self)
    }

    pub fn named(name: &str) -> Option<Self> {
        EVENTS_FATES.iter().find(|(word, _)| *word == name).map(|(_, fate)| *fate)
    }
}

impl State {
    pub fn as_str(self) -> &'static str {
        kernel::fields::word_for(STATES, self)
    }

    pub fn named(name: &str) -> Option<Self> {
        STATES.iter().find(|(word, _)| *word == name).map(|(_, state)| *state)
    }
}

/// How a caller names a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonName {
    User(String),
    External(String),
    Email(EmailAddress),
}

/// A request to make.
#[derive(Debug, Clone)]
pub struct NewRequest {
    pub kind: Kind,
    /// None where the fields were refused.
    pub person: Option<PersonName>,
    /// Of an export none.
    pub events: Option<EventsFate>,
}

described!(
    /// A request to erase or export what is stored of a person, who is named by exactly one identifier.
    NewRequest as "NewPrivacyRequest"
);

impl FromFields for NewRequest {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let kind =
            body.required("type").about("`erase` or `export`.").as_type::<KindWord>().one_of(KINDS);
        let user = body
            .optional("userId")
            .about("Internal id of the profile, also of a deleted or merged one.")
            .text(1..=IDENTIFIER_CHARS_MAX);
        let external = body
            .optional("externalId")
            .about("The caller's id of the person.")
            .text(1..=IDENTIFIER_CHARS_MAX);
        let email = body
            .optional("email")
            .about("The address of the person, where one profile alone has it.")
            .parsed(None, |text| {
                let read = text.parse::<EmailAddress>();
                read.map(Some).map_err(|_| "must be an email address".to_owned())
            })
            .flatten();
        let events = body
            .optional("events")
            .about("Of an erasure: `delete` (default) deletes events; `anonymize` keeps name, time and money of each.")
            .as_type::<EventsWord>()
            .one_of(EVENTS_FATES);
        let named = ["userId", "externalId", "email"].iter().filter(|name| body.has(name)).count();
        if named != 1 {
            body.refuse_body("must name the person by exactly one of userId, externalId and email");
        }
        if events.is_some() && body.is_clean() && kind == Kind::Export {
            body.refuse("events", "is for requests of type erase only");
        }
        let person = user
            .map(PersonName::User)
            .or(external.map(PersonName::External))
            .or(email.map(PersonName::Email));
        let events = (kind == Kind::Erase).then(|| events.unwrap_or(EventsFate::Delete));
        Self { kind, person, events }
    }
}

/// A request as it is stored.
#[derive(Debug, Clone)]
pub struct PrivacyRequest {
    pub id: RequestId,
    pub kind: Kind,
    pub events: Option<EventsFate>,
    /// None once the person was erased.
    pub user: Option<UserId>,
    pub state: State,
    /// Of a running erasure.
    pub step: Option<Step>,
    pub failure: Option<String>,
    pub requested_by: String,
    pub requested_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// When the document of an export is deleted.
    pub expires_at: Option<Timestamp>,
}

//! Events with the messages that they may be credited to: ClickHouse finds the people of the events and what they got.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use super::{
    Conversion, Touch,
    outcomes::{Among, ask_outcomes},
};
use crate::{
    Analytics, client,
    error::AnalyticsError,
    events::{FIRST_OF_ORDERS, ORDER_COMPLETED, Range},
    owners,
    reads::{Read, RowStream},
};

const ATTRIBUTION: &str = include_str!("../sql/attribution.sql");
const AMONG: &str = include_str!("../sql/attribution_among.sql");
const EVENTS: &str = include_str!("../sql/attribution_events.sql");
const FORMER: &str = include_str!("../sql/attribution_former.sql");
const OR_LINKED: &str = include_str!("../sql/attribution_linked.sql");
const MERGED: &str = include_str!("../sql/attribution_merged.sql");
const PEOPLE: &str = include_str!("../sql/attribution_people.sql");
const SLOTS: &str = include_str!("../sql/attribution_slots.sql");

/// The identifiers of an event as one number: 16 bytes, however long they are. No identifier holds the character between
/// them.
const IDENTIFIERS: &str = r"sipHash128(multiIf(
                    service_user_id != '', concat(service_user_id, '\0', user_id),
                    user_id != '', user_id,
                    concat('\0\0', anonymous_id)))";
/// Most identifiers of deleted profiles in one question: about 50 bytes of a statement each.
pub const FORMER_LINKS_MAX: usize = 10_000;

/// Events of a name in a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedEvents<'a> {
    /// Workspace of the events.
    pub workspace: Uuid,
    /// Their name. Of orders only the first event of each is answered.
    pub event_name: &'a str,
    /// Whether to leave out events that came with a public key, whose ids begin with `sdk:`.
    pub without_apps: bool,
    /// Inclusive start, in milliseconds since 1970.
    pub start_ms: i64,
    /// Inclusive end, in milliseconds since 1970.
    pub end_ms: i64,
}

/// Identifiers that lead to deleted profiles, which copies of profiles do not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormerLinks {
    links: Vec<String>,
    profiles: Vec<[u8; 12]>,
}

impl FormerLinks {
    /// Adds an id in `userId` or `serviceUserId`.
    pub fn add_user(&mut self, id: &str, profile: [u8; 12]) {
        self.links.push(id.to_owned());
        self.profiles.push(profile);
    }

    /// Adds an anonymous id of events without a user.
    pub fn add_anonymous(&mut self, id: &str, profile: [u8; 12]) {
        self.links.push(format!("\u{2}{id}"));
        self.profiles.push(profile);
    }

    /// Whether there are more than one question takes.
    pub fn are_too_many(&self) -> bool {
        self.links.len() > FORMER_LINKS_MAX
    }
}

/// Identifiers that lead to profiles without being their own ids.
#[derive(Debug, Clone, Copy)]
pub struct FurtherIdentifiers<'a> {
    /// Whether there are any of active profiles in the workspace.
    pub of_active: bool,
    /// Those of deleted profiles.
    pub of_deleted: &'a FormerLinks,
}

/// Which messages events are credited to.
#[derive(Debug, Clone, Copy)]
pub struct AttributionFilter<'a> {
    /// The campaign whose messages are credited, then those whose messages compete for the events.
    pub campaigns: &'a [Uuid],
    /// Length of the attribution window of each campaign, in milliseconds.
    pub windows_ms: &'a [i64],
    /// Whether messages of the first campaign that did not leave are answered too.
    pub with_unsent: bool,
    /// Ids of variants: answers name them by their place here, counted from 1; 0 is any other.
    pub variants: &'a [String],
    /// Whether conditions on properties will be asked of the events.
    pub with_properties: bool,
    /// Identifiers by which people are found besides profiles' own.
    pub further: FurtherIdentifiers<'a>,
    /// Whether messages are looked up by the people of the events; else all of the campaigns are put together, which is
    /// less work where they are few beside the events.
    pub by_people: bool,
}

/// An event, and the messages that its person got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributedEvent {
    /// The event, without its identifiers.
    pub event: Conversion,
    /// The messages in whose windows it lies, in no order; at least one of the first campaign.
    pub touches: Vec<Touch>,
}

/// A touch as a tuple of ClickHouse.
type TouchColumns = (u16, [u8; 12], u128, u32, u8, u8, i64);

/// A row of `attribution.sql`.
#[derive(Debug, Row, Deserialize)]
struct AttributedRow {
    at_ms: i64,
    properties: String,
    is_paid: bool,
    amount: i64,
    currency: String,
    base_amount: i64,
    base_currency: String,
    touches: Vec<TouchColumns>,
}

impl From<AttributedRow> for AttributedEvent {
    fn from(row: AttributedRow) -> Self {
        let touch = |(campaign, user_id, message, occurrence, variant, class, at_ms)| Touch {
            user_id,
            campaign,
            message,
            occurrence,
            variant,
            class,
            at_ms,
        };
        Self {
            event: Conversion {
                user_id: String::new(),
                service_user_id: String::new(),
                anonymous: String::new(),
                at_ms: row.at_ms,
                properties: row.properties,
                is_paid: row.is_paid,
                amount: row.amount,
                currency: row.currency,
                base_amount: row.base_amount,
                base_currency: row.base_currency,
            },
            touches: row.touches.into_iter().map(touch).collect(),
        }
    }
}

/// The answer, event by event.
pub struct AttributedEvents {
    /// None where nothing can match.
    cursor: Option<RowStream<AttributedRow>>,
}

impl std::fmt::Debug for AttributedEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AttributedEvents").finish_non_exhaustive()
    }
}

impl AttributedEvents {
    /// The next event, in no order; each comes once.
    ///
    /// # Errors
    /// When ClickHouse is away or the question asks too much.
    pub async fn next(&mut self) -> Result<Option<AttributedEvent>, AnalyticsError> {
        match &mut self.cursor {
            Some(cursor) => Ok(cursor.next().await?.map(AttributedEvent::from)),
            None => Ok(None),
        }
    }
}

impl NamedEvents<'_> {
    /// A question about these events. `None` where nothing can match.
    fn bind(&self, query: Read) -> Option<Read> {
        let range = Range::new(Some(self.start_ms), Some(self.end_ms))?;
        Some(
            query
                .param("workspace", self.workspace.to_string())
                .param("event_name", self.event_name)
                .param("without_apps", self.without_apps)
                .param("start_ms", range.start_ms)
                .param("end_ms", range.end_ms),
        )
    }
}

/// Asks for the events that may be credited to messages of a campaign. People are found in the copies of profiles and of
/// identifiers, so these must be up to date.
///
/// # Errors
/// When ClickHouse is away, or there is more to join than it may hold: then a shorter time can be asked for.
pub fn attributed_events(
    analytics: &Analytics,
    events: &NamedEvents<'_>,
    filter: &AttributionFilter<'_>,
) -> Result<AttributedEvents, AnalyticsError> {
    let none = AttributedEvents { cursor: None };
    let (Some(own), Some(window)) = (filter.campaigns.first(), filter.windows_ms.iter().max())
    else {
        return Ok(none);
    };
    let is_order = events.event_name == ORDER_COMPLETED;
    let first = if is_order { format!("AND {FIRST_OF_ORDERS}") } else { String::new() };
    let former = filter.further.of_deleted;
    let or_linked = if filter.further.of_active { OR_LINKED } else { "" };
    let people = PEOPLE
        .replace("$or_linked$", or_linked)
        .replace("$linked$", &owners::linked_of_workspace())
        .replace("$former_links$", &STANDARD.encode(former.links.join("\0")))
        .replace("$former_profiles$", &STANDARD.encode(former.profiles.as_flattened()));
    let sql = ATTRIBUTION.replace("$and$", &first).replace("$people$", &people);
    let among = AMONG.replace("$people$", &people);
    let parts = |sql: &str| {
        sql.replace("$merged$", MERGED)
            .replace("$events$", EVENTS)
            .replace("$identifiers$", IDENTIFIERS)
    };
    let unsent_of = if filter.with_unsent { *own } else { Uuid::nil() };
    let among = parts(&among);
    let among = if filter.by_people { Among::These(&among) } else { Among::All };
    let query = ask_outcomes(analytics, &parts(&sql), "", among)
        .with_setting("max_result_rows", "0")
        .param("campaigns", texts(filter.campaigns))
        .param("windows", filter.windows_ms)
        .param("variants", filter.variants)
        .param("unsent_of", unsent_of.to_string())
        .param("with_properties", filter.with_properties)
        .param("former", former.profiles.len() as u64)
        .param("touched_from_ms", events.start_ms.saturating_sub(*window));
    match events.bind(query) {
        Some(query) => Ok(AttributedEvents { cursor: Some(query.fetch()?) }),
        None => Ok(none),
    }
}

fn texts(ids: &[Uuid]) -> Vec<String> {
    ids.iter().map(Uuid::to_string).collect()
}

/// A row of `attribution_former.sql`.
#[derive(Debug, Clone, Copy, Row, Deserialize)]
struct FormerPerson {
    person: [u8; 12],
}

/// The deleted profiles among the people who got messages of campaigns, so many at most.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn former_people(
    analytics: &Analytics,
    workspace: Uuid,
    campaigns: &[Uuid],
    people_max: usize,
) -> Result<Vec<[u8; 12]>, AnalyticsError> {
    let rows: Vec<FormerPerson> = client::read(analytics, &FORMER.replace("$merged$", MERGED))
        .param("workspace", workspace.to_string())
        .param("campaigns", texts(campaigns))
        .param("people_max", people_max as u64)
        .fetch_all()
        .await?;
    Ok(rows.into_iter().map(|row| row.person).collect())
}

/// Events of a part of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct EventSlot {
    /// Its number, from 0.
    pub slot: i64,
    /// How many events lie in it; repeats count.
    pub events: u64,
}

/// How many events lie in each slot of so many milliseconds; slots without any are missing.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn event_slots(
    analytics: &Analytics,
    events: &NamedEvents<'_>,
    slot_ms: i64,
) -> Result<Vec<EventSlot>, AnalyticsError> {
    let query = client::read(analytics, &SLOTS.replace("$events$", EVENTS));
    match events.bind(query.param("slot_ms", slot_ms)) {
        Some(query) => query.fetch_all().await,
        None => Ok(Vec::new()),
    }
}

//! Inline subscriptions and events of users: how they are read, and how their results are answered.
//!
//! A field of the wrong type and too many items are errors of the body. An item that lacks a required field is
//! reported beside the other items if one user was sent, because items never fail that call. In an array of
//! users it refuses its element, because elements are validated in full.

use ingest::model::limits::EVENT_NAME_CHARS_MAX;
use kernel::fields::describe::described;
use kernel::{
    Channel, FieldError,
    fields::{Field, Fields, FromFields, Required},
    schema::EventMoment,
};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::raw_fields::{FieldErrors, Texts};
use crate::{
    consent::model::MembershipStatus,
    users::model::{
        EVENTS_MAX, SUBSCRIPTIONS_MAX,
        inline::{Event, Subscription},
    },
};

/// How the users were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    One,
    Array,
}

described!(
    /// A subscription inside of an upsert of its user.
    Subscription as "InlineSubscription"
);

/// An event inside of an upsert of its user. The write path reads it.
struct InlineEvent;

impl FromFields for InlineEvent {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        body.required("name").text(0..=EVENT_NAME_CHARS_MAX);
        body.optional("properties").about("As `POST /events/track` takes them.").json_object();
        body.optional("timestamp")
            .about("ISO 8601 text or epoch milliseconds; default the server's time.")
            .as_type::<EventMoment>()
            .json();
        Self
    }
}

described!(
    /// An event inside of an upsert of its user.
    InlineEvent as "InlineEvent"
);

/// Describes the events and subscriptions inside of an upsert.
pub(super) fn describe(body: &mut Fields<'_>) {
    Subscriptions::from_fields(body);
    let read = |item: Field<'_, Required>| drop(item.as_type::<InlineEvent>().json());
    body.optional("events").list(0..=EVENTS_MAX, read);
}

impl FromFields for Subscription {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let list =
            body.optional("listId").needed().text(0..=usize::MAX).filter(|text| !text.is_empty());
        let channel = body.optional("channel").as_type::<Channel>().one_of(Channel::NAMED);
        let status = body
            .optional("status")
            .about("`subscribed` (default) or `unsubscribed`.")
            .as_type::<MembershipStatus>()
            .one_of(MembershipStatus::NAMED);
        Self {
            list,
            channel: channel.unwrap_or(Channel::Email),
            status: status.unwrap_or(MembershipStatus::Subscribed),
        }
    }
}

struct Subscriptions(Option<Vec<Subscription>>);

impl FromFields for Subscriptions {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let read = |item: Field<'_, Required>| item.as_type::<Subscription>().object();
        Self(body.optional("subscriptions").list(0..=SUBSCRIPTIONS_MAX, read))
    }
}

/// Reads `subscriptions`; nothing when they were not sent.
pub(super) fn subscriptions(
    texts: &Texts<'_>,
    form: Form,
    errors: &mut FieldErrors,
) -> Option<Vec<Subscription>> {
    let sent: Option<Subscriptions> = texts.read(&["subscriptions"], errors);
    let sent = sent?.0?;
    if form == Form::Array {
        let nameless = sent.iter().enumerate().filter(|(_, one)| one.list.is_none());
        errors.extend(nameless.map(|(index, _)| {
            FieldError::new(format!("subscriptions[{index}].listId"), "is required")
        }));
    }
    Some(sent)
}

/// Reads `events`; nothing when they were not sent.
pub(super) fn events<'b>(
    texts: &Texts<'b>,
    form: Form,
    errors: &mut FieldErrors,
) -> Option<Vec<Event<'b>>> {
    texts.get("events")?;
    let Some(items) = texts.list("events") else {
        errors.push(FieldError::new("events", "must be an array"));
        return None;
    };
    if items.len() > EVENTS_MAX {
        let problem = format!("must have at most {EVENTS_MAX} elements, received {}", items.len());
        errors.push(FieldError::new("events", problem));
        return None;
    }
    Some(
        items
            .into_iter()
            .enumerate()
            .filter_map(|(index, item)| event(index, item, form, errors))
            .collect(),
    )
}

fn event<'b>(
    index: usize,
    item: &'b RawValue,
    form: Form,
    errors: &mut FieldErrors,
) -> Option<Event<'b>> {
    let texts = match Texts::of(item) {
        Ok(texts) => texts,
        Err(wrong) => {
            errors.push(FieldError::new(format!("events[{index}]"), wrong.problem));
            return None;
        }
    };
    let mut typed = |name: &str, first: &[u8], problem: &str| {
        let text = texts.get(name)?;
        if text.get().as_bytes().first().is_some_and(|byte| first.contains(byte)) {
            return Some(text);
        }
        errors.push(FieldError::new(format!("events[{index}].{name}"), problem));
        None
    };
    let had_name = texts.get("name").is_some_and(|text| text.get() != "\"\"");
    let event = Event {
        name: typed("name", b"\"", "must be a string"),
        properties: typed("properties", b"{", "must be an object"),
        timestamp: typed("timestamp", b"\"-0123456789", "must be a string or a number"),
    };
    if form == Form::Array && !had_name {
        errors.push(FieldError::new(format!("events[{index}].name"), "is required"));
    }
    Some(event)
}

/// What became of the subscriptions of a single user.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(super) struct SubscriptionsSummary {
    applied: usize,
    skipped: Vec<SkippedSubscription>,
}

/// A subscription that was not applied.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SkippedSubscription {
    list_id: Option<String>,
    channel: Channel,
    reason: String,
}

impl SubscriptionsSummary {
    /// Of each subscription, and why it was skipped, where it was.
    pub(super) fn new(sent: Vec<Subscription>, reasons: Vec<Option<String>>) -> Self {
        let mut summary = Self::default();
        for (one, reason) in sent.into_iter().zip(reasons) {
            match reason {
                None => summary.applied += 1,
                Some(reason) => summary.skipped.push(SkippedSubscription {
                    list_id: one.list,
                    channel: one.channel,
                    reason,
                }),
            }
        }
        summary
    }
}

/// What became of the events of a single user.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(super) struct EventsSummary {
    accepted: usize,
    rejected: Vec<RejectedEvent>,
}

/// An event that was not recorded.
#[derive(Debug, Serialize, ToSchema)]
struct RejectedEvent {
    /// Its name as sent, where it has one.
    #[schema(value_type = Option<String>)]
    name: Option<Box<RawValue>>,
    reason: String,
}

impl EventsSummary {
    /// Of each event, and why it was rejected, where it was.
    pub(super) fn new(sent: &[Event<'_>], reasons: Vec<Option<String>>) -> Self {
        let mut summary = Self::default();
        for (event, reason) in sent.iter().zip(reasons) {
            match reason {
                None => summary.accepted += 1,
                Some(reason) => {
                    let name = event.name.map(ToOwned::to_owned);
                    summary.rejected.push(RejectedEvent { name, reason });
                }
            }
        }
        summary
    }
}

/// How many of a request's subscriptions were applied.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(super) struct SubscriptionCounts {
    applied: usize,
    skipped: usize,
}

impl SubscriptionCounts {
    /// Of the reasons why some were skipped.
    pub(super) fn of(reasons: &[Option<String>]) -> Self {
        let skipped = reasons.iter().flatten().count();
        Self { applied: reasons.len() - skipped, skipped }
    }
}

/// How many of a request's events were recorded.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(super) struct EventCounts {
    accepted: usize,
    rejected: usize,
}

impl EventCounts {
    /// Of the reasons why some were rejected.
    pub(super) fn of(reasons: &[Option<String>]) -> Self {
        let rejected = reasons.iter().flatten().count();
        Self { accepted: reasons.len() - rejected, rejected }
    }
}

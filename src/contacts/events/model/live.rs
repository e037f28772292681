//! Events as listeners see them: filters, the most of a second, repeats.

use std::{
    collections::{HashSet, VecDeque},
    hash::{BuildHasher as _, RandomState},
};

use ingest::{
    admit::calls::Adjustments,
    record::{BatchHeader, EventView, ProfileCall},
    rejected::KeptRejection,
};
use kernel::Timestamp;

/// Events that are shown in a second.
pub const SHOWN_PER_SECOND: u32 = 100;
/// Bytes of properties that are shown as they are; of longer ones the beginning is.
pub const PROPERTIES_BYTES_MAX: usize = 4 << 10;
/// Accepted events that are remembered, so that a repeat is not shown again.
const REMEMBERED_MAX: usize = 4_096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveStatus {
    Accepted,
    Rejected,
}

/// Which events are shown.
#[derive(Debug, Clone, Default)]
pub struct LiveFilter {
    pub name: Option<String>,
    /// The external or the internal id.
    pub user: Option<String>,
    pub status: Option<LiveStatus>,
}

/// An event that was accepted, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedEvent {
    pub event_id: String,
    pub name: String,
    pub user_id: Option<String>,
    pub anonymous_id: Option<String>,
    pub properties: ShownProperties,
    pub timestamp: Timestamp,
    pub received_at: Timestamp,
    pub key_id: String,
    /// What was changed about it; none where nothing was.
    pub adjusted: Option<Adjustments>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownProperties {
    /// A JSON object as it was sent.
    Whole(String),
    /// The beginning of its text.
    Cut(String),
}

impl ShownProperties {
    fn of(text: &str) -> Self {
        if text.len() <= PROPERTIES_BYTES_MAX {
            return Self::Whole(text.to_owned());
        }
        let (kept, _) = text.split_at(text.floor_char_boundary(PROPERTIES_BYTES_MAX));
        Self::Cut(kept.to_owned())
    }
}

impl AcceptedEvent {
    pub fn of(event: &EventView<'_>, header: &BatchHeader, key_id: &str) -> Self {
        let sent = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Self {
            event_id: event.event_id.to_owned(),
            name: event.event_name.to_owned(),
            user_id: sent(user_of(event)),
            anonymous_id: sent(event.anonymous_id),
            properties: ShownProperties::of(event.properties),
            timestamp: Timestamp::from_millis(event.timestamp_ms),
            received_at: Timestamp::from_millis(header.received_at_ms),
            key_id: key_id.to_owned(),
            adjusted: None,
        }
    }

    /// A change of a profile by an event SDK.
    pub fn of_profile_call(call: &ProfileCall<'_>, header: &BatchHeader, key_id: &str) -> Self {
        let sent = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Self {
            event_id: call.call_id.to_owned(),
            name: call.name().to_owned(),
            user_id: sent(call.user_id),
            anonymous_id: sent(call.anonymous_id),
            properties: ShownProperties::of(&properties_of(call)),
            timestamp: Timestamp::from_millis(call.timestamp_ms),
            received_at: Timestamp::from_millis(header.received_at_ms),
            key_id: key_id.to_owned(),
            adjusted: None,
        }
    }
}

/// The attributes that it sets, else the id that it joins to the user's.
fn properties_of(call: &ProfileCall<'_>) -> String {
    match (call.previous_id, call.attributes) {
        ("", "") => "{}".to_owned(),
        ("", attributes) => attributes.to_owned(),
        (previous, _) => serde_json::json!({"previousId": previous}).to_string(),
    }
}

/// The external id, else the internal one, else nothing.
fn user_of<'e>(event: &EventView<'e>) -> &'e str {
    if event.user_id.is_empty() { event.service_user_id } else { event.user_id }
}

impl LiveFilter {
    pub fn includes(&self, status: LiveStatus) -> bool {
        self.status.is_none_or(|wanted| wanted == status)
    }

    pub fn accepts(&self, event: &EventView<'_>) -> bool {
        let is_user =
            |user: &str| event.user_id == user || event.service_user_id.eq_ignore_ascii_case(user);
        self.name.as_ref().is_none_or(|name| name == event.event_name)
            && self.user.as_ref().is_none_or(|user| is_user(user))
    }

    pub fn accepts_profile_call(&self, call: &ProfileCall<'_>) -> bool {
        self.name.as_ref().is_none_or(|name| name == call.name())
            && self.user.as_ref().is_none_or(|user| user == call.user_id)
    }

    pub fn accepts_refused(&self, event: &KeptRejection) -> bool {
        let is_same =
            |wanted: &Option<String>, sent: &Option<String>| wanted.is_none() || wanted == sent;
        is_same(&self.name, &event.name) && is_same(&self.user, &event.user_id)
    }
}

/// Accepted events that were shown lately.
#[derive(Debug, Default)]
pub struct ShownEvents {
    hasher: RandomState,
    known: HashSet<u64>,
    oldest_first: VecDeque<u64>,
}

impl ShownEvents {
    /// Remembers an event; false when it was shown before.
    pub fn insert(&mut self, event: &EventView<'_>) -> bool {
        self.remember(self.hasher.hash_one((event.event_name, event.day, event.event_id)))
    }

    /// Likewise a change of a profile; its parts are one.
    pub fn insert_profile_call(&mut self, call: &ProfileCall<'_>) -> bool {
        self.remember(self.hasher.hash_one((call.kind, call.call_id)))
    }

    fn remember(&mut self, hash: u64) -> bool {
        if !self.known.insert(hash) {
            return false;
        }
        self.oldest_first.push_back(hash);
        if self.oldest_first.len() > REMEMBERED_MAX
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event<'e>(name: &'e str, id: &'e str) -> EventView<'e> {
        EventView { event_name: name, event_id: id, user_id: "ann", ..EventView::default() }
    }

    #[test]
    fn filters_are_all_kept_to() {
        let filter = |name: Option<&str>, user: Option<&str>| LiveFilter {
            name: name.map(str::to_owned),
            user: user.map(str::to_owned),
            status: None,
        };
        let by_internal_id = EventView {
            user_id: "",
            service_user_id: "00000000000000000000abcd",
            ..event("A", "1")
        };
        for (name, user, external, internal) in [
            (None, None, true, true),
            (Some("A"), None, true, true),
            (Some("a"), None, false, false),
            (Some("A"), Some("ann"), true, false),
            (Some("B"), Some("ann"), false, false),
            (None, Some("bob"), false, false),
            (None, Some("00000000000000000000ABCD"), false, true),
        ] {
            let filter = filter(name, user);
            assert_eq!(filter.accepts(&event("A", "1")), external, "{filter:?}");
            assert_eq!(filter.accepts(&by_internal_id), internal, "{filter:?}");
        }
        let only = LiveFilter { status: Some(LiveStatus::Rejected), ..LiveFilter::default() };
        assert!(only.includes(LiveStatus::Rejected) && !only.includes(LiveStatus::Accepted));
        let all = LiveFilter::default();
        assert!(all.includes(LiveStatus::Rejected) && all.includes(LiveStatus::Accepted));
    }

    #[test]
    fn properties_are_cut_past_their_limit() {
        let text = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        let whole = text(PROPERTIES_BYTES_MAX);
        assert_eq!(ShownProperties::of(&whole), ShownProperties::Whole(whole.clone()));
        let ShownProperties::Cut(cut) = ShownProperties::of(&text(PROPERTIES_BYTES_MAX + 1)) else {
            panic!("it is too long")
        };
        assert_eq!(cut.len(), PROPERTIES_BYTES_MAX);
    }

    #[test]
    fn an_event_is_shown_once_while_it_is_remembered() {
        let mut shown = ShownEvents::default();
        assert!(shown.insert(&event("A", "1")));
        assert!(!shown.insert(&event("A", "1")));
        assert!(shown.insert(&event("B", "1")));
        assert!(shown.insert(&EventView { day: 1, ..event("A", "1") }));
        for number in 0..REMEMBERED_MAX - 3 {
            assert!(shown.insert(&event("C", &number.to_string())));
        }
        assert!(!shown.insert(&event("A", "1")));
        assert!(shown.insert(&event("C", "next")));
        assert!(shown.insert(&event("A", "1")), "it is forgotten");
        assert_eq!(shown.known.len(), REMEMBERED_MAX);
    }
}

//! Triggered campaigns, the events they match, and the rules of entry. Without I/O.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::Duration,
};

use audience::model::{AudienceQuery, Condition, Person, Targeting};
use campaigns::model::{
    CampaignChannel, TriggeredCampaign,
    message::MessageChannel,
    settings::trigger::{ReEntry, TriggerConfig},
};
use contacts::events::model::people::{LinkedProfile, LinkedProfiles};
use ingest::record::{BatchHeader, EventView};
use kernel::{CampaignId, ListId, Timestamp, UserId, WorkspaceId};
use serde_json::{Map, Value, json};

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
/// An event may have happened this long before its campaign became active: clocks differ, and some producers
/// round to seconds.
const EARLY_MAX: Duration = MINUTE;
/// The maximum age of an event at ingestion. Older events are imports of history.
const AGE_MAX: Duration = Duration::from_hours(72);

/// The last millisecond of the year 9999.
const RECEIVED_MS_MAX: i64 = 253_402_300_799_999;

/// An active triggered campaign.
#[derive(Debug)]
pub(super) struct LiveTrigger {
    pub(super) workspace: WorkspaceId,
    pub(super) id: CampaignId,
    pub(super) config: TriggerConfig,
    pub(super) targeting: Option<Targeting>,
    /// The initial channel of a message. Where variants have channels, the drawn variant replaces it.
    pub(super) channel: MessageChannel,
    sent_on: CampaignChannel,
    list: Option<ListId>,
    since: Timestamp,
}

impl LiveTrigger {
    /// The trigger of a campaign; none without `triggerConfig` or without a message.
    pub(super) fn of(campaign: TriggeredCampaign) -> Option<Self> {
        let TriggeredCampaign { workspace, id, definition, since, .. } = campaign;
        let first_message = definition.variants.iter().find_map(|variant| variant.message.as_ref());
        let channel = match definition.channel {
            CampaignChannel::AiOptimized => first_message.map(|message| message.content.channel()),
            channel => MessageChannel::of(channel),
        };
        Some(Self {
            workspace,
            id,
            config: *definition.trigger_config?,
            targeting: definition.targeting,
            channel: channel?,
            sent_on: definition.channel,
            list: definition.subscription_category_id,
            since,
        })
    }

    /// The query for its audience.
    pub(super) fn query(&self) -> AudienceQuery<'_> {
        AudienceQuery {
            targeting: self.targeting.as_ref(),
            channel: self.sent_on.delivers(),
            list: self.list,
        }
    }

    /// Whether an event was received while the campaign was active, and happened in that time.
    pub(super) fn was_active(&self, received: Timestamp, happened: Timestamp) -> bool {
        received >= self.since
            && happened >= self.since.before(EARLY_MAX)
            && happened >= received.before(AGE_MAX)
    }

    /// Whether an event meets the conditions.
    pub(super) fn matches(&self, event: &TriggerEvent) -> bool {
        let conditions = self.config.conditions.as_deref().unwrap_or_default();
        conditions
            .iter()
            .all(|condition: &Condition| condition.holds(&event.properties, event.received))
    }

    /// Whether a profile that last entered at `last` may enter again.
    fn allows_entry(&self, last: Option<Timestamp>, at: Timestamp) -> bool {
        let Some(last) = last else { return true };
        match self.config.re_entry() {
            ReEntry::Once => false,
            ReEntry::Always => true,
            ReEntry::Cooldown => {
                let hours = self.config.cooldown_hours.unwrap_or(0);
                at >= last.after(HOUR * hours)
            }
        }
    }

    /// When the message of an event is due.
    pub(super) fn due(&self, event: &TriggerEvent) -> Timestamp {
        event.received.after(MINUTE * self.config.delay_minutes())
    }
}

/// An event that may trigger a campaign.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TriggerEvent {
    /// The event id, shared by repeats.
    pub(super) id: String,
    /// As tracked in `serviceUserId`.
    pub(super) service_user: Option<UserId>,
    /// As tracked in `userId`.
    pub(super) user: String,
    /// As tracked in `anonymousId`, where the event has no user.
    pub(super) anonymous: String,
    name: String,
    properties: Map<String, Value>,
    happened: Timestamp,
    pub(super) received: Timestamp,
}

impl TriggerEvent {
    /// Reads a recorded event.
    ///
    /// # Errors
    /// Invalid properties.
    ///
    /// # Panics
    /// For a time of receipt after the year 9999, which ingestion never writes.
    pub(super) fn of(header: &BatchHeader, event: &EventView<'_>) -> serde_json::Result<Self> {
        assert!(
            header.received_at_ms <= RECEIVED_MS_MAX,
            "a frame with an impossible time of receipt"
        );
        Ok(Self {
            id: event.event_id.to_owned(),
            service_user: event.service_user_id.parse().ok(),
            user: event.user_id.to_owned(),
            anonymous: if event.user_id.is_empty() && event.service_user_id.is_empty() {
                event.anonymous_id.to_owned()
            } else {
                String::new()
            },
            name: event.event_name.to_owned(),
            properties: serde_json::from_str(event.properties)?,
            happened: Timestamp::from_millis(event.timestamp_ms),
            received: Timestamp::from_millis(header.received_at_ms),
        })
    }

    /// `userId` as an internal id: 24 hexadecimal digits in lower case.
    pub(super) fn user_as_id(&self) -> Option<UserId> {
        let is_lower_hex = self.user.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_lower_hex { self.user.parse().ok() } else { None }
    }

    /// The rendering context of its message.
    pub(super) fn context(&self) -> Value {
        json!({
            "event": {
                "name": self.name,
                "properties": self.properties,
                "timestamp": self.happened,
            },
            "eventId": self.id,
        })
    }
}

/// Profiles by the ids that events have.
#[derive(Debug, Default)]
pub(super) struct KnownProfiles {
    by_id: HashMap<UserId, Option<String>>,
    by_external_id: HashMap<String, UserId>,
    linked: LinkedProfiles,
}

impl KnownProfiles {
    pub(super) fn add(&mut self, person: Person) {
        let Person { user, external_id } = person;
        if let Some(external_id) = &external_id {
            self.by_external_id.insert(external_id.clone(), user);
        }
        self.by_id.insert(user, external_id);
    }

    /// Adds the profiles to which further ids of events are linked.
    pub(super) fn add_linked(&mut self, linked: LinkedProfiles) {
        self.linked = linked;
    }

    /// The profile of an event: by `serviceUserId`, else by the external id in `userId`, else by an internal id in
    /// `userId`, else by an id of a merged profile or a link. An event without a user is of the profile to which its
    /// `anonymousId` is linked. None without a match.
    pub(super) fn profile_of(&self, event: &TriggerEvent) -> Option<Person> {
        let own = |id: UserId| {
            let external_id = self.by_id.get(&id)?.clone();
            Some(Person { user: id, external_id })
        };
        let linked = |profile: &LinkedProfile| {
            let (user, external_id) = (profile.user, profile.external_id.clone());
            profile.is_active.then_some(Person { user, external_id })
        };
        let by_service_user = event.service_user.and_then(|id| {
            own(id).or_else(|| self.linked.by_user.get(&id.to_string()).and_then(linked))
        });
        by_service_user
            .or_else(|| self.by_external_id.get(&event.user).copied().and_then(own))
            .or_else(|| event.user_as_id().and_then(own))
            .or_else(|| self.linked.by_user.get(&event.user).and_then(linked))
            .or_else(|| self.linked.by_anonymous.get(&event.anonymous).and_then(linked))
    }

    /// The identifiers of these events of which no profile's own id is known.
    pub(super) fn unknown<'e>(&self, events: impl Iterator<Item = &'e TriggerEvent>) -> UnknownIds {
        let mut unknown = UnknownIds::default();
        for event in events.filter(|event| self.profile_of(event).is_none()) {
            let service_user = event.service_user.map(|id| id.to_string());
            unknown.users.extend(service_user);
            if !event.user.is_empty() {
                unknown.users.insert(event.user.clone());
            }
            if !event.anonymous.is_empty() {
                unknown.anonymous.insert(event.anonymous.clone());
            }
        }
        unknown
    }
}

/// Identifiers of events that may be linked to profiles.
#[derive(Debug, Default)]
pub(super) struct UnknownIds {
    pub(super) users: BTreeSet<String>,
    pub(super) anonymous: BTreeSet<String>,
}

/// The last entry of a profile into a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LastEntry {
    /// The number of entries.
    pub(super) entry: i32,
    /// The time of the last one.
    pub(super) at: Timestamp,
}

/// Entries of a campaign that are relevant to some events.
#[derive(Debug, Default)]
pub(super) struct PreviousEntries {
    /// The events that caused an entry already.
    pub(super) events: HashSet<String>,
    /// The last entries of the events' profiles.
    pub(super) last: HashMap<UserId, LastEntry>,
}

/// An entry of a profile into a campaign.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry<'e> {
    pub(super) event: &'e TriggerEvent,
    pub(super) user: UserId,
    pub(super) number: i32,
}

/// An event and its profile.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProfileEvent<'e> {
    pub(super) event: &'e TriggerEvent,
    pub(super) person: Person,
}

/// The entries by these events, in their order: each event once, each profile as often as the campaign allows.
pub(super) fn admit<'e>(
    trigger: &LiveTrigger,
    events: &[ProfileEvent<'e>],
    mut known: PreviousEntries,
) -> Vec<Entry<'e>> {
    let mut entering = Vec::new();
    for ProfileEvent { event, person } in events {
        let user = person.user;
        let last = known.last.get(&user).copied();
        if known.events.contains(&event.id)
            || !trigger.allows_entry(last.map(|last| last.at), event.received)
        {
            continue;
        }
        let number = last.map_or(0, |last| last.entry) + 1;
        let at = last.map_or(event.received, |last| last.at.max(event.received));
        known.events.insert(event.id.clone());
        known.last.insert(user, LastEntry { entry: number, at });
        entering.push(Entry { event, user, number });
    }
    entering
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 3_600_000;
    const EARLY_MAX_MS: i64 = 60_000;
    const AGE_MAX_MS: i64 = 72 * HOUR_MS;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn trigger(config: Value) -> LiveTrigger {
        LiveTrigger {
            workspace: WorkspaceId::new(uuid::Uuid::nil()),
            id: CampaignId::new(uuid::Uuid::nil()),
            config: serde_json::from_value(config).expect("a trigger"),
            targeting: None,
            channel: MessageChannel::Email,
            sent_on: CampaignChannel::Email,
            list: None,
            since: at(1_000_000_000),
        }
    }

    fn event(id: &str, received_ms: i64) -> TriggerEvent {
        TriggerEvent {
            id: id.to_owned(),
            service_user: None,
            user: "ann".to_owned(),
            anonymous: String::new(),
            name: "Signed Up".to_owned(),
            properties: Map::new(),
            happened: at(received_ms),
            received: at(received_ms),
        }
    }

    fn of(event: &TriggerEvent, user: UserId) -> ProfileEvent<'_> {
        ProfileEvent { event, person: Person { user, external_id: None } }
    }

    /// The events of one profile, by id and hour, that cause an entry.
    fn entering(config: Value, events: &[(&str, i64)]) -> Vec<(String, i32)> {
        let ann = UserId::from_bytes([1; 12]);
        let events: Vec<_> = events.iter().map(|(id, ms)| event(id, *ms)).collect();
        let named: Vec<_> = events.iter().map(|event| of(event, ann)).collect();
        admit(&trigger(config), &named, PreviousEntries::default())
            .into_iter()
            .map(|entry| (entry.event.id.clone(), entry.number))
            .collect()
    }

    #[test]
    fn re_entry_limits_repeated_entries() {
        let events =
            [("a", 0), ("a", 1), ("b", 2 * HOUR_MS - 1), ("c", 2 * HOUR_MS), ("d", 3 * HOUR_MS)];
        for (config, expected) in [
            (json!({"eventName": "x"}), vec![("a", 1)]),
            (json!({"eventName": "x", "reEntry": "once"}), vec![("a", 1)]),
            (
                json!({"eventName": "x", "reEntry": "always"}),
                vec![("a", 1), ("b", 2), ("c", 3), ("d", 4)],
            ),
            (
                json!({"eventName": "x", "reEntry": "cooldown", "cooldownHours": 2}),
                vec![("a", 1), ("c", 2)],
            ),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|(id, n)| (id.to_owned(), n)).collect();
            assert_eq!(entering(config.clone(), &events), expected, "{config}");
        }
    }

    #[test]
    fn previous_entries_count() {
        let ann = UserId::from_bytes([1; 12]);
        let events = [event("a", 5 * HOUR_MS), event("b", 5 * HOUR_MS)];
        let named: Vec<_> = events.iter().map(|event| of(event, ann)).collect();
        let known = || PreviousEntries {
            events: HashSet::from(["a".to_owned()]),
            last: HashMap::from([(ann, LastEntry { entry: 7, at: at(4 * HOUR_MS) })]),
        };
        let ids = |config| {
            let entering = admit(&trigger(config), &named, known());
            entering.iter().map(|it| (it.event.id.clone(), it.number)).collect::<Vec<_>>()
        };
        assert_eq!(ids(json!({"eventName": "x"})), []);
        assert_eq!(ids(json!({"eventName": "x", "reEntry": "always"})), [("b".to_owned(), 8)]);
        let cooldown =
            |hours| json!({"eventName": "x", "reEntry": "cooldown", "cooldownHours": hours});
        assert_eq!(ids(cooldown(1)), [("b".to_owned(), 8)]);
        assert_eq!(ids(cooldown(2)), []);
    }

    #[test]
    fn only_events_of_the_active_period_count() {
        let campaign = trigger(json!({"eventName": "x"}));
        let since = campaign.since.millis();
        for (received, happened, expected) in [
            (since, since, true),
            (since - 1, since, false),
            (since, since - EARLY_MAX_MS, true),
            (since, since - EARLY_MAX_MS - 1, false),
            (since + 2 * AGE_MAX_MS, since + AGE_MAX_MS, true),
            (since + 2 * AGE_MAX_MS, since + AGE_MAX_MS - 1, false),
            (since, since + AGE_MAX_MS, true),
        ] {
            assert_eq!(
                campaign.was_active(at(received), at(happened)),
                expected,
                "{received} {happened}"
            );
        }
    }

    #[test]
    fn an_event_is_of_the_profile_it_names_first() {
        let (ann, bob) = (UserId::from_bytes([1; 12]), UserId::from_bytes([0xab; 12]));
        let mut known = KnownProfiles::default();
        known.add(Person { user: ann, external_id: Some("ann".to_owned()) });
        known.add(Person { user: bob, external_id: None });
        let stranger = UserId::from_bytes([3; 12]);
        for (service_user, user, expected) in [
            (None, "ann".to_owned(), Some(ann)),
            (Some(bob), "ann".to_owned(), Some(bob)),
            (Some(stranger), "ann".to_owned(), Some(ann)),
            (None, bob.to_string(), Some(bob)),
            (None, bob.to_string().to_uppercase(), None),
            (None, "bob".to_owned(), None),
            (Some(stranger), String::new(), None),
        ] {
            let event = TriggerEvent { service_user, user, ..event("a", 0) };
            assert_eq!(known.profile_of(&event).map(|person| person.user), expected, "{event:?}");
        }
    }

    #[test]
    fn an_event_is_of_the_profile_to_which_its_ids_are_linked() {
        let (ann, bob) = (UserId::from_bytes([1; 12]), UserId::from_bytes([0xab; 12]));
        let gone = UserId::from_bytes([3; 12]);
        let linked = |user, is_active| LinkedProfile { user, external_id: None, is_active };
        let mut known = KnownProfiles::default();
        known.add(Person { user: ann, external_id: Some("ann".to_owned()) });
        known.add_linked(LinkedProfiles {
            by_user: HashMap::from([
                ("robert".to_owned(), linked(bob, true)),
                (gone.to_string(), linked(bob, true)),
                ("deleted".to_owned(), linked(gone, false)),
            ]),
            by_anonymous: HashMap::from([("a1".to_owned(), linked(bob, true))]),
        });
        for (service_user, user, anonymous, expected) in [
            (None, "robert", "", Some(bob)),
            (Some(gone), "ann", "", Some(bob)),
            (None, "ann", "", Some(ann)),
            (None, "deleted", "", None),
            (None, "", "a1", Some(bob)),
            (None, "", "a2", None),
        ] {
            let (user, anonymous) = (user.to_owned(), anonymous.to_owned());
            let event = TriggerEvent { service_user, user, anonymous, ..event("a", 0) };
            assert_eq!(known.profile_of(&event).map(|person| person.user), expected, "{event:?}");
        }
    }
}

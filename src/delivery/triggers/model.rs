//! Who waits for what, and when an event of somebody enters them into a campaign. Pure.

use std::collections::{HashMap, HashSet};

use campaigns::model::{
    CampaignChannel, TriggeredCampaign,
    message::MessageChannel,
    settings::trigger::{ReEntry, TriggerConfig},
};
use contacts::audience::model::{AudienceQuery, Condition, Person, Targeting};
use ingest::record::{BatchHeader, EventView};
use kernel::{CampaignId, ListId, Timestamp, UserId, WorkspaceId};
use serde_json::{Map, Value, json};

/// Milliseconds of a minute.
const MINUTE_MS: i64 = 60_000;
/// Milliseconds of an hour.
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// How long before its campaign became active an event may say it happened: clocks differ, and some
/// producers cut to seconds.
const EARLY_MS_MAX: i64 = MINUTE_MS;
/// How old an event may be when it comes in: what happened longer ago is history that is being brought in.
const AGE_MS_MAX: i64 = 72 * HOUR_MS;

/// An active campaign that waits for an event.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) workspace: WorkspaceId,
    pub(super) id: CampaignId,
    pub(super) config: TriggerConfig,
    pub(super) targeting: Option<Targeting>,
    /// What a message begins on; where a variant chooses, until one is drawn.
    pub(super) channel: MessageChannel,
    sent_on: CampaignChannel,
    list: Option<ListId>,
    since: Timestamp,
}

impl Waiting {
    /// What a campaign waits for; none where it says nothing of that, or sends nothing.
    pub(super) fn of(campaign: TriggeredCampaign) -> Option<Self> {
        let TriggeredCampaign { workspace, id, definition, since, .. } = campaign;
        let said = definition.variants.iter().find_map(|variant| variant.message.as_ref());
        let channel = match definition.channel {
            CampaignChannel::AiOptimized => said.map(|message| message.content.channel()),
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

    /// What is asked of its audience.
    pub(super) fn query(&self) -> AudienceQuery<'_> {
        AudienceQuery {
            targeting: self.targeting.as_ref(),
            channel: self.sent_on.delivers(),
            list: self.list,
        }
    }

    /// Whether an event came in while it was active, and tells of that time.
    pub(super) fn was_active(&self, received: Timestamp, happened: Timestamp) -> bool {
        received >= self.since
            && happened.millis() >= self.since.millis() - EARLY_MS_MAX
            && happened.millis() >= received.millis() - AGE_MS_MAX
    }

    /// Whether its conditions hold of an event.
    pub(super) fn holds_of(&self, event: &Occurred) -> bool {
        let conditions = self.config.conditions.as_deref().unwrap_or_default();
        conditions
            .iter()
            .all(|condition: &Condition| condition.holds(&event.properties, event.received))
    }

    /// Whether somebody who last entered then may enter again.
    fn readmits(&self, last: Option<Timestamp>, at: Timestamp) -> bool {
        let Some(last) = last else { return true };
        match self.config.re_entry() {
            ReEntry::Once => false,
            ReEntry::Always => true,
            ReEntry::Cooldown => {
                let hours = i64::from(self.config.cooldown_hours.unwrap_or(0));
                at.millis() >= last.millis() + hours * HOUR_MS
            }
        }
    }

    /// When the message of an event is due.
    pub(super) fn due(&self, event: &Occurred) -> Timestamp {
        let delay_ms = i64::from(self.config.delay_minutes()) * MINUTE_MS;
        Timestamp::from_millis(event.received.millis() + delay_ms)
    }
}

/// An event that somebody waits for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Occurred {
    /// The id that repeats of it share.
    pub(super) id: String,
    /// As tracked in `serviceUserId`.
    pub(super) service_user: Option<UserId>,
    /// As tracked in `userId`.
    pub(super) user: String,
    name: String,
    properties: Map<String, Value>,
    happened: Timestamp,
    pub(super) received: Timestamp,
}

impl Occurred {
    /// An event as it was recorded.
    ///
    /// # Errors
    /// Where the properties cannot be read.
    pub(super) fn of(header: &BatchHeader, event: &EventView<'_>) -> serde_json::Result<Self> {
        Ok(Self {
            id: event.event_id.to_owned(),
            service_user: event.service_user_id.parse().ok(),
            user: event.user_id.to_owned(),
            name: event.event_name.to_owned(),
            properties: serde_json::from_str(event.properties)?,
            happened: Timestamp::from_millis(event.timestamp_ms),
            received: Timestamp::from_millis(header.received_at_ms),
        })
    }

    /// The internal id that `userId` may be, written as one is: in lower case.
    pub(super) fn user_as_id(&self) -> Option<UserId> {
        let is_written_so = self.user.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_written_so { self.user.parse().ok() } else { None }
    }

    /// What the message of it is rendered with.
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

/// Profiles by what events name them by.
#[derive(Debug, Default)]
pub(super) struct Known {
    by_id: HashMap<UserId, Option<String>>,
    by_external_id: HashMap<String, UserId>,
}

impl Known {
    pub(super) fn add(&mut self, person: Person) {
        let Person { user, external_id } = person;
        if let Some(external_id) = &external_id {
            self.by_external_id.insert(external_id.clone(), user);
        }
        self.by_id.insert(user, external_id);
    }

    /// Whose event it is: named by the service's own id, else by the caller's, else by the service's in the
    /// caller's place. None where no profile is known by any; aliases and anonymous ids are of no profile.
    pub(super) fn whose(&self, event: &Occurred) -> Option<Person> {
        let named = |id: UserId| self.by_id.contains_key(&id).then_some(id);
        let user = event
            .service_user
            .and_then(named)
            .or_else(|| self.by_external_id.get(&event.user).copied())
            .or_else(|| event.user_as_id().and_then(named))?;
        Some(Person { user, external_id: self.by_id.get(&user).cloned().flatten() })
    }
}

/// How somebody stands with a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Last {
    /// How often they entered.
    pub(super) entry: i32,
    /// When they last did.
    pub(super) at: Timestamp,
}

/// What is known of a campaign's entries, as far as some events go.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Those of these events that entered somebody.
    pub(super) events: HashSet<String>,
    /// How those whose events they are stand.
    pub(super) last: HashMap<UserId, Last>,
}

/// Somebody who enters a campaign.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry<'e> {
    pub(super) event: &'e Occurred,
    pub(super) user: UserId,
    pub(super) number: i32,
}

/// Who enters by these events, in their order: each event once, each person as often as the campaign lets
/// them.
pub(super) fn admit<'e>(
    waiting: &Waiting,
    events: &[(&'e Occurred, UserId)],
    mut known: Entries,
) -> Vec<Entry<'e>> {
    let mut entering = Vec::new();
    for (event, user) in events {
        let last = known.last.get(user).copied();
        if known.events.contains(&event.id)
            || !waiting.readmits(last.map(|last| last.at), event.received)
        {
            continue;
        }
        let number = last.map_or(0, |last| last.entry) + 1;
        let at = last.map_or(event.received, |last| last.at.max(event.received));
        known.events.insert(event.id.clone());
        known.last.insert(*user, Last { entry: number, at });
        entering.push(Entry { event, user: *user, number });
    }
    entering
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn waiting(config: Value) -> Waiting {
        Waiting {
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

    fn event(id: &str, received_ms: i64) -> Occurred {
        Occurred {
            id: id.to_owned(),
            service_user: None,
            user: "ann".to_owned(),
            name: "Signed Up".to_owned(),
            properties: Map::new(),
            happened: at(received_ms),
            received: at(received_ms),
        }
    }

    /// Which of events of one person, by id and hour, enter them.
    fn entering(config: Value, events: &[(&str, i64)]) -> Vec<(String, i32)> {
        let ann = UserId::from_bytes([1; 12]);
        let events: Vec<_> = events.iter().map(|(id, ms)| event(id, *ms)).collect();
        let named: Vec<_> = events.iter().map(|event| (event, ann)).collect();
        admit(&waiting(config), &named, Entries::default())
            .into_iter()
            .map(|entry| (entry.event.id.clone(), entry.number))
            .collect()
    }

    #[test]
    fn re_entry_says_who_enters_again() {
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
    fn what_entered_before_counts() {
        let ann = UserId::from_bytes([1; 12]);
        let events = [event("a", 5 * HOUR_MS), event("b", 5 * HOUR_MS)];
        let named: Vec<_> = events.iter().map(|event| (event, ann)).collect();
        let known = || Entries {
            events: HashSet::from(["a".to_owned()]),
            last: HashMap::from([(ann, Last { entry: 7, at: at(4 * HOUR_MS) })]),
        };
        let ids = |config| {
            let entering = admit(&waiting(config), &named, known());
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
    fn only_events_of_the_time_in_which_it_was_active_count() {
        let campaign = waiting(json!({"eventName": "x"}));
        let since = campaign.since.millis();
        for (received, happened, expected) in [
            (since, since, true),
            (since - 1, since, false),
            (since, since - EARLY_MS_MAX, true),
            (since, since - EARLY_MS_MAX - 1, false),
            (since + 2 * AGE_MS_MAX, since + AGE_MS_MAX, true),
            (since + 2 * AGE_MS_MAX, since + AGE_MS_MAX - 1, false),
            (since, since + AGE_MS_MAX, true),
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
        let mut known = Known::default();
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
            let event = Occurred { service_user, user, ..event("a", 0) };
            assert_eq!(known.whose(&event).map(|person| person.user), expected, "{event:?}");
        }
    }
}

//! The events of one name, credited to the messages of their people.

use std::collections::{BTreeSet, HashMap, HashSet};

use analytics::{
    AnalyticsError,
    events::PersonIds,
    messages::{
        AttributionFilter, Conversion, ConversionFilter, FormerLinks, FurtherIdentifiers,
        NamedEvents, PEOPLE_MAX, Touch, TouchFilter, attributed_events, conversions, event_slots,
        touches,
    },
};
use contacts::events::ops::people::further_identifiers;
use kernel::{
    Result, Timestamp, UserId,
    time::{HOUR, millis},
};
use serde_json::{Map, Value};
use uuid::Uuid;
use web::Services;

use super::{
    ReportScope,
    credit_list::Found,
    event_people::People,
    slices::{Slice, SliceOfEvents},
};
use crate::{
    model::{
        attribution::{self, credit},
        goal::{ConversionEvent, Tracker},
        outcome::{Credit, Goal, MessageGroup, Treatment},
    },
    store,
};

/// Events that ClickHouse joins at once, with the people and messages they lead to.
const JOINED_EVENTS: u64 = 500_000;
/// How often a slice is halved that is too much for ClickHouse.
const HALVINGS_MAX: u32 = 6;
/// Events whose people PostgreSQL finds at once, about 300 bytes each.
const STORED_EVENTS: u64 = 50_000;
/// Rows of messages that ClickHouse may hold at once: those of more are looked up by people.
const HELD_ROWS_MAX: u64 = 4_000_000;
/// Looking up a message by its person costs as much as putting so many together.
const ROWS_A_LOOKUP: u64 = 4;
/// So few rows are put together in less time than ClickHouse takes to plan the lookups.
const FEW_ROWS: u64 = 500;

/// [`Touch::class`] of the control group.
const CLASS_CONTROL: u8 = 1;
/// [`Touch::class`] of a sent message; greater ones did not leave.
const CLASS_SENT: u8 = 2;

/// Which credits are computed.
#[derive(Debug, Clone, Default)]
pub struct CreditFilter {
    /// Only the primary conversion, and no revenue.
    pub primary_only: bool,
    /// Only events of this person, and each by itself.
    pub of: Option<UserId>,
    /// Only messages of occurrences after this one.
    pub after_occurrence: i32,
    /// Whether credits by assignment are computed.
    pub by_assignment: bool,
    /// Credits by assignment count up to this age of their message, in milliseconds.
    pub cut_ms: Option<i64>,
    pub scan: Scan,
}

/// How events are read, which changes no number.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scan {
    /// Whether PostgreSQL finds the people of events, also where ClickHouse could.
    pub in_postgres: bool,
    /// Most events that are looked at at once; by default as many as memory allows.
    pub events_at_once: Option<u64>,
    /// Whether messages are looked up by the people of events; by default where that is less work.
    pub by_people: Option<bool>,
}

/// How the people of events are found.
#[derive(Debug)]
pub(super) enum Lookup {
    /// By joining copies of profiles in ClickHouse.
    Joined(Joins),
    /// By asking PostgreSQL for 50,000 events at a time.
    Stored,
}

/// What is known before ClickHouse joins events with people and messages.
#[derive(Debug)]
pub(super) struct Joins {
    /// Whether profiles have identifiers besides their own.
    pub(super) has_identities: bool,
    /// Identifiers of deleted profiles, which the copies lack.
    pub(super) former: FormerLinks,
    /// Rows of messages by campaign.
    pub(super) rows: HashMap<Uuid, u64>,
}

/// An event that matches a goal and is not yet credited.
#[derive(Debug)]
pub(super) struct MatchedEvent {
    /// As tracked in `userId` and `serviceUserId`.
    pub(super) users: [String; 2],
    /// The anonymous id, where there are no users.
    pub(super) anonymous: String,
    pub(super) at_ms: i64,
    pub(super) goals: Vec<Goal>,
    /// Indexes of the other campaigns that do not count the event.
    not_counted_by: Vec<usize>,
    /// Indexes of the other campaigns that do not count its revenue.
    not_earned_by: Vec<usize>,
}

/// A scan of all events of one name.
pub(super) struct ConversionScan<'a> {
    pub(super) app: &'a Services,
    pub(super) scope: &'a ReportScope,
    pub(super) own: &'a Tracker,
    /// The other campaigns that may count events of this name.
    pub(super) others: Vec<&'a Tracker>,
    pub(super) name: &'a str,
    /// Whether events of this name from public keys are ignored.
    pub(super) without_apps: bool,
    pub(super) currency: Option<&'a str>,
    pub(super) filter: &'a CreditFilter,
}

impl ConversionScan<'_> {
    /// Credits all events of a time.
    pub(super) async fn run(&self, time: Slice, lookup: &Lookup, found: &mut Found) -> Result<()> {
        if self.filter.of.is_some() {
            let identifiers = self.identifiers().await?;
            return self.credit_stored(time, identifiers.as_ref(), found).await;
        }
        let slots = event_slots(self.app.analytics(), &self.events(time), time.slot_ms()).await?;
        let at_once = self.filter.scan.events_at_once;
        match lookup {
            Lookup::Joined(joins) => {
                for slice in time.divided(&slots, at_once.unwrap_or(JOINED_EVENTS)) {
                    self.credit_joined(slice, joins, found).await?;
                }
            }
            Lookup::Stored => {
                for of in time.divided(&slots, at_once.unwrap_or(STORED_EVENTS)) {
                    self.credit_stored(of.slice, None, found).await?;
                }
            }
        }
        Ok(())
    }

    fn events(&self, time: Slice) -> NamedEvents<'_> {
        NamedEvents {
            workspace: self.scope.workspace.uuid(),
            event_name: self.name,
            without_apps: self.without_apps,
            start_ms: time.start_ms,
            end_ms: time.end_ms,
        }
    }

    /// Its own campaign, then the others; [`Touch::campaign`] is the place among these.
    fn trackers(&self) -> impl Iterator<Item = &Tracker> {
        std::iter::once(self.own).chain(self.others.iter().copied())
    }

    fn campaigns(&self) -> Vec<Uuid> {
        self.trackers().map(|tracker| tracker.campaign.uuid()).collect()
    }

    fn has_conditions(&self) -> bool {
        self.trackers().any(|tracker| tracker.has_conditions_for(self.name))
    }

    /// Lets ClickHouse join the events of a slice with messages; of halves of it where that is too much at once.
    async fn credit_joined(
        &self,
        of: SliceOfEvents,
        joins: &Joins,
        found: &mut Found,
    ) -> Result<()> {
        let rows = |campaign| joins.rows.get(campaign);
        let messages: u64 = self.campaigns().iter().filter_map(rows).sum();
        let are_many = messages > (of.events * ROWS_A_LOOKUP).clamp(FEW_ROWS, HELD_ROWS_MAX);
        let mut by_people = self.filter.scan.by_people.unwrap_or(are_many);
        let mut left = vec![(of.slice, HALVINGS_MAX)];
        while let Some((slice, halvings)) = left.pop() {
            let halves = slice.halves().filter(|_| halvings > 0);
            match (self.joined(slice, joins, by_people).await, halves) {
                (Ok(events), _) => {
                    for (event, touches) in &events {
                        self.credit_event(event, touches, found);
                    }
                }
                (
                    Err(
                        AnalyticsError::TooMuch(_)
                        | AnalyticsError::OutOfMemory(_)
                        | AnalyticsError::Timeout(_),
                    ),
                    Some(halves),
                ) => {
                    by_people = true;
                    left.extend(halves.into_iter().rev().map(|half| (half, halvings - 1)));
                }
                (Err(error), _) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The events of a slice that meet goals, with the messages of their people.
    async fn joined(
        &self,
        slice: Slice,
        joins: &Joins,
        by_people: bool,
    ) -> std::result::Result<Vec<(MatchedEvent, Vec<Touch>)>, AnalyticsError> {
        let windows_ms: Vec<i64> =
            self.trackers().map(|it| millis(HOUR * it.tracking.window_hours())).collect();
        let filter = AttributionFilter {
            campaigns: &self.campaigns(),
            windows_ms: &windows_ms,
            with_unsent: self.filter.by_assignment,
            variants: self.scope.variants(),
            with_properties: self.has_conditions(),
            further: FurtherIdentifiers {
                of_active: joins.has_identities,
                of_deleted: &joins.former,
            },
            by_people,
        };
        let mut answer = attributed_events(self.app.analytics(), &self.events(slice), &filter)?;
        let mut events = Vec::new();
        while let Some(found) = answer.next().await? {
            if let Some(event) = self.match_goals(found.event) {
                events.push((event, found.touches));
            }
        }
        Ok(events)
    }

    /// The identifiers of the filter's person.
    async fn identifiers(&self) -> Result<Option<PersonIds>> {
        let Some(user) = self.filter.of else { return Ok(None) };
        let (db, workspace) = (self.app.db(), self.scope.workspace);
        let found = store::people::contact_info(db, workspace, &[user]).await?;
        let external_id = found.into_iter().find_map(|(_, info)| info.external_id);
        let further = further_identifiers(db, workspace, &[user]).await?.remove(&user);
        let mut ids = further.unwrap_or_default();
        ids.users.extend(std::iter::once(user.to_string()).chain(external_id));
        Ok(Some(ids))
    }

    /// Lets PostgreSQL find the people of the events of a slice.
    async fn credit_stored(
        &self,
        slice: Slice,
        identifiers: Option<&PersonIds>,
        found: &mut Found,
    ) -> Result<()> {
        let filter = ConversionFilter {
            event_name: self.name,
            with_properties: self.has_conditions(),
            without_apps: self.without_apps,
            identifiers,
            start_ms: slice.start_ms,
            end_ms: slice.end_ms,
            events_max: u64::MAX,
        };
        let mut events = conversions(self.app.analytics(), self.scope.workspace.uuid(), &filter)?;
        let mut met = Vec::new();
        while let Some(event) = events.next().await? {
            met.extend(self.match_goals(event));
            if met.len() as u64 >= STORED_EVENTS {
                self.credit_chunk(std::mem::take(&mut met), found).await?;
            }
        }
        self.credit_chunk(met, found).await
    }

    async fn credit_chunk(&self, met: Vec<MatchedEvent>, found: &mut Found) -> Result<()> {
        let Some(first) = met.iter().map(|event| event.at_ms).min() else { return Ok(()) };
        let last = met.iter().map(|event| event.at_ms).max().unwrap_or(first);
        let people = self.people(&met).await?;
        let window = self.trackers().map(|it| it.tracking.window_hours()).max().unwrap_or(0);
        let time = Slice { start_ms: first - millis(HOUR * window), end_ms: last };
        let by_user = self.touches(&people, time).await?;
        for event in &met {
            let near: Vec<Touch> = people
                .of(&event.users, &event.anonymous)
                .iter()
                .filter_map(|user| by_user.get(user.bytes()))
                .flatten()
                .copied()
                .collect();
            self.credit_event(event, &near, found);
        }
        Ok(())
    }

    /// The profiles of the people of events.
    pub(super) async fn people(&self, met: &[MatchedEvent]) -> Result<People> {
        let users: HashSet<&str> = met
            .iter()
            .flat_map(|event| &event.users)
            .map(String::as_str)
            .filter(|id| !id.is_empty())
            .collect();
        let anonymous: HashSet<&str> =
            met.iter().map(|event| event.anonymous.as_str()).filter(|id| !id.is_empty()).collect();
        People::find(self.app.db(), self.scope.workspace, &users, &anonymous).await
    }

    /// The messages sent to people, by person.
    async fn touches(&self, people: &People, time: Slice) -> Result<HashMap<[u8; 12], Vec<Touch>>> {
        let users: BTreeSet<[u8; 12]> = people.users().map(|user| *user.bytes()).collect();
        let users: Vec<[u8; 12]> = users.into_iter().collect();
        let campaigns = self.campaigns();
        let mut by_user: HashMap<[u8; 12], Vec<Touch>> = HashMap::new();
        for some in users.chunks(PEOPLE_MAX) {
            let filter = TouchFilter {
                workspace: self.scope.workspace.uuid(),
                campaigns: &campaigns,
                with_unsent: self.filter.by_assignment,
                variants: self.scope.variants(),
                people: some,
                start_ms: time.start_ms,
                end_ms: time.end_ms,
            };
            for touch in touches(self.app.analytics(), &filter).await? {
                by_user.entry(touch.user_id).or_default().push(touch);
            }
        }
        Ok(by_user)
    }

    pub(super) fn match_goals(&self, event: Conversion) -> Option<MatchedEvent> {
        let properties: Map<String, Value> =
            serde_json::from_str(&event.properties).unwrap_or_default();
        let at = Timestamp::from_millis(event.at_ms);
        let candidate = ConversionEvent { name: self.name, properties: &properties, at };
        let mut goals: Vec<Goal> =
            self.own.met(&candidate).into_iter().map(Goal::Conversion).collect();
        if self.filter.primary_only {
            goals.retain(|goal| *goal == Goal::Conversion(0));
        } else if self.own.earns(&candidate) {
            goals.extend(money(&event, self.currency));
        }
        if goals.is_empty() {
            return None;
        }
        let refusing = |refuses: &dyn Fn(&Tracker) -> bool| -> Vec<usize> {
            let all = self.others.iter().enumerate().filter(|(_, other)| refuses(other));
            all.map(|(place, _)| place).collect()
        };
        Some(MatchedEvent {
            users: [event.user_id, event.service_user_id],
            anonymous: event.anonymous,
            at_ms: event.at_ms,
            goals,
            not_counted_by: refusing(&|other| !other.converts(&candidate)),
            not_earned_by: refusing(&|other| !other.earns(&candidate)),
        })
    }

    /// Credits an event to the messages of its person, which are in any order.
    fn credit_event(&self, event: &MatchedEvent, touches: &[Touch], found: &mut Found) {
        let mut near: Vec<&Touch> = touches.iter().collect();
        near.sort_unstable_by_key(|touch| (touch.at_ms, touch.user_id, touch.message));
        let sent: Vec<&Touch> =
            near.iter().filter(|touch| touch.class <= CLASS_SENT).copied().collect();
        let number = found.events;
        found.events += 1;
        for goal in &event.goals {
            for credit in self.share(number, event, goal, &sent) {
                found.credited.add(credit);
            }
            if self.filter.by_assignment {
                let credits = self.share(number, event, goal, &near);
                for credit in credits.into_iter().filter(|credit| self.is_up_to_age(credit)) {
                    found.by_assignment.add(credit);
                }
            }
        }
    }

    fn is_up_to_age(&self, credit: &Credit) -> bool {
        self.filter.cut_ms.is_none_or(|cut| credit.at_ms - credit.sent_ms <= cut)
    }

    /// Credits one goal of an event to the messages of its person.
    fn share(
        &self,
        event_number: usize,
        event: &MatchedEvent,
        goal: &Goal,
        near: &[&Touch],
    ) -> Vec<Credit> {
        let refusing = match goal {
            Goal::Conversion(_) => &event.not_counted_by,
            Goal::Order { .. } => &event.not_earned_by,
        };
        let (mut candidates, mut of) = (Vec::new(), Vec::new());
        for touch in near {
            let other = usize::from(touch.campaign).checked_sub(1);
            let tracker = match other {
                None => self.own,
                Some(place) if !refusing.contains(&place) => self.others[place],
                Some(_) => continue,
            };
            let window_hours = tracker.tracking.window_hours();
            candidates.push(attribution::Touch { at_ms: touch.at_ms, window_hours });
            of.push((other.is_none(), *touch));
        }
        let model = self.own.tracking.attribution_model();
        let mut found = Vec::new();
        for (place, part) in credit(model, &candidates, event.at_ms) {
            let (own, touch) = of[place];
            let is_meant = self.scope.range.start.is_none_or(|start| touch.at_ms >= start.millis())
                && self.scope.range.end.is_none_or(|end| touch.at_ms <= end.millis());
            if own && is_meant {
                found.push(Credit {
                    message: touch.message,
                    person: touch.user_id,
                    group: MessageGroup {
                        variant: touch.variant,
                        occurrence: touch.occurrence,
                        treatment: match touch.class {
                            CLASS_CONTROL => Treatment::Control,
                            CLASS_SENT => Treatment::Sent,
                            _ => Treatment::Unsent,
                        },
                    },
                    sent_ms: touch.at_ms,
                    at_ms: event.at_ms,
                    event: event_number,
                    part,
                    goal: goal.part(part),
                });
            }
        }
        found
    }
}

/// An order's amount: in the reporting currency if the order has it, else in the order's currency.
fn money(event: &Conversion, currency: Option<&str>) -> Option<Goal> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a sum of money in doubles; cents of billions are exact"
    )]
    let order = |currency: &str, amount: i64| {
        Some(Goal::Order { currency: currency.to_owned(), amount: amount as f64 })
    };
    let is_based = event.base_amount != 0 && currency == Some(event.base_currency.as_str());
    match currency {
        Some(currency) if is_based => order(currency, event.base_amount),
        _ if event.is_paid => order(&event.currency, event.amount),
        _ => None,
    }
}

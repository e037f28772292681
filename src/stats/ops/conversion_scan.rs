//! Attribution of conversions: events are read in bulk, their identifiers are resolved to profiles, and each event is
//! credited to the messages that its profile received.
//!
//! ```text
//! ClickHouse: events ─▶ identifiers ─▶ PostgreSQL: profiles ─▶ ClickHouse: touches ─▶ credits
//! ```

use std::collections::{BTreeSet, HashMap, HashSet};

use analytics::events::PersonIds;
use analytics::messages::{
    Conversion, ConversionFilter, PEOPLE_MAX, Touch, TouchFilter, conversions, sole_base_currency,
    touches,
};
use contacts::events::ops::people::{further_identifiers, linked_profiles};
use kernel::{
    Error, Result, Timestamp, UserId, WorkspaceId,
    time::{HOUR, millis},
};
use serde_json::{Map, Value};
use uuid::Uuid;
use web::Services;

use super::ReportScope;
use crate::{
    model::{
        attribution::{self, credit},
        goal::{ConversionEvent, ORDER_COMPLETED, Tracker},
        outcome::{Credit, Goal, MessageGroup, Treatment},
    },
    store,
};

/// Most events of one name that a report scans.
const EVENTS_MAX: u64 = 2_000_000;
/// Events in memory at a time, about 300 bytes each.
const CHUNK_EVENTS: usize = 50_000;
/// Messages that one chunk of events may be credited to.
const TOUCHES_MAX: u64 = 2_000_000;

/// [`Touch::class`] of the control group.
const CLASS_CONTROL: u8 = 1;
/// [`Touch::class`] of a sent message; greater ones did not leave.
const CLASS_SENT: u8 = 2;

/// Which credits are computed.
#[derive(Debug, Clone, Default)]
pub struct CreditFilter {
    /// Only the primary conversion, and no revenue.
    pub primary_only: bool,
    /// Only events of this person.
    pub of: Option<UserId>,
    /// Only messages of occurrences after this one.
    pub after_occurrence: i32,
    /// Whether [`Credits::by_assignment`] is computed.
    pub by_assignment: bool,
}

/// The outcomes of messages.
#[derive(Debug, Clone, Default)]
pub struct Credits {
    /// Outcomes of the messages that were sent, and of the control group.
    pub credited: Vec<Credit>,
    /// The same as if each message that failed, was skipped or cancelled had been sent then: what comparisons by
    /// assignment count. Each event is credited anew, so its parts add up to 1 here too.
    pub by_assignment: Vec<Credit>,
}

/// The currency of reports: the workspace's; without one the base currency of its orders, if all orders with
/// a base currency name the same.
///
/// # Errors
/// If a store fails.
pub async fn reporting_currency(app: &Services, workspace: WorkspaceId) -> Result<Option<String>> {
    match store::runs::currency(app.db(), workspace).await? {
        Some(currency) => Ok(Some(currency)),
        None => Ok(sole_base_currency(app.analytics(), workspace.uuid()).await?),
    }
}

/// Credits the outcomes of the messages in scope, revenue in the reporting currency if the order has an
/// amount in it. Empty if the campaign tracks nothing.
///
/// # Errors
/// A bad request if there are more events than a report scans.
pub(super) async fn credits(
    app: &Services,
    scope: &ReportScope,
    currency: Option<&str>,
    filter: &CreditFilter,
) -> Result<Credits> {
    let Some(tracking) = scope.campaign.definition.conversion_tracking.as_deref() else {
        return Ok(Credits::default());
    };
    let mut spans = scope.spans(app).await?;
    spans.retain(|span| i64::from(span.occurrence) > i64::from(filter.after_occurrence));
    let (first, last) =
        (spans.iter().map(|span| span.first_ms).min(), spans.iter().map(|span| span.last_ms).max());
    let (Some(first), Some(last)) = (first, last) else { return Ok(Credits::default()) };
    let end = last.saturating_add(millis(HOUR * tracking.window_hours()));
    let own = Tracker { campaign: scope.campaign.id, tracking: tracking.clone() };
    let (earliest, latest) = (Timestamp::from_millis(first), Timestamp::from_millis(end));
    let others =
        store::trackers::beside(app.db(), scope.workspace, scope.campaign.id, earliest, latest)
            .await?;
    let mut names: BTreeSet<&str> = own.conversions().map(|it| it.event_name.as_str()).collect();
    names.insert(ORDER_COMPLETED);
    if filter.primary_only {
        names.retain(|name| *name == own.tracking.primary_conversion.event_name);
    }
    let untrusted = untrusted_names(app, scope.workspace).await?;
    let mut found = Credits::default();
    for name in names {
        let scan = ConversionScan {
            app,
            scope,
            own: &own,
            others: &others,
            name,
            without_apps: untrusted.iter().any(|it| it == name),
            currency,
            filter,
        };
        scan.run(first, end, &mut found).await?;
    }
    Ok(found)
}

/// The names of events that do not count from apps: those that trigger a campaign, unless they are trusted.
pub(super) async fn untrusted_names(app: &Services, workspace: WorkspaceId) -> Result<Vec<String>> {
    let mut names = store::trackers::triggering(app.db(), workspace).await?;
    names.retain(|name| !app.sdk_trusted_events().contains(name));
    Ok(names)
}

/// An event that matches a goal and is not yet credited.
pub(super) struct MatchedEvent {
    pub(super) identifiers: [String; 2],
    /// The anonymous id, where there are no identifiers.
    anonymous: String,
    pub(super) at_ms: i64,
    pub(super) goals: Vec<Goal>,
    /// Indexes of the other campaigns that do not count the event.
    not_counted_by: Vec<u16>,
    /// Indexes of the other campaigns that do not count its revenue.
    not_earned_by: Vec<u16>,
}

/// Profiles by the identifiers of events.
#[derive(Debug, Default)]
pub(super) struct People {
    by_user: HashMap<String, Vec<UserId>>,
    by_anonymous: HashMap<String, Vec<UserId>>,
}

impl People {
    fn users(&self) -> impl Iterator<Item = &UserId> {
        self.by_user.values().chain(self.by_anonymous.values()).flatten()
    }

    /// The profiles of the person of an event.
    pub(super) fn of(&self, event: &MatchedEvent) -> BTreeSet<UserId> {
        let by_user = event.identifiers.iter().filter_map(|id| self.by_user.get(id));
        by_user.chain(self.by_anonymous.get(&event.anonymous)).flatten().copied().collect()
    }

    /// Adds to each profile those that are the same person.
    fn extend(&mut self, same: &HashMap<UserId, Vec<UserId>>) {
        for users in self.by_user.values_mut().chain(self.by_anonymous.values_mut()) {
            let further: Vec<UserId> =
                users.iter().filter_map(|user| same.get(user)).flatten().copied().collect();
            users.extend(further);
        }
    }
}

/// A scan of all events of one name.
pub(super) struct ConversionScan<'a> {
    pub(super) app: &'a Services,
    pub(super) scope: &'a ReportScope,
    pub(super) own: &'a Tracker,
    pub(super) others: &'a [Tracker],
    pub(super) name: &'a str,
    /// Whether events of this name from public keys are ignored.
    pub(super) without_apps: bool,
    pub(super) currency: Option<&'a str>,
    pub(super) filter: &'a CreditFilter,
}

impl ConversionScan<'_> {
    async fn run(&self, start_ms: i64, end_ms: i64, found: &mut Credits) -> Result<()> {
        let identifiers = self.identifiers().await?;
        let filter = ConversionFilter {
            event_name: self.name,
            with_properties: std::iter::once(self.own)
                .chain(self.others)
                .any(|it| it.has_conditions_for(self.name)),
            without_apps: self.without_apps,
            identifiers: identifiers.as_ref(),
            start_ms,
            end_ms,
            events_max: EVENTS_MAX + 1,
        };
        let mut events = conversions(self.app.analytics(), self.scope.workspace.uuid(), &filter)?;
        let (mut seen, mut met) = (0_u64, Vec::new());
        while let Some(event) = events.next().await? {
            seen += 1;
            if seen > EVENTS_MAX {
                return Err(Error::bad_request(format!(
                    "There are more than {EVENTS_MAX} events {:?} to look at: narrow startDate and endDate",
                    self.name
                )));
            }
            met.extend(self.match_goals(event));
            if met.len() >= CHUNK_EVENTS {
                self.credit(std::mem::take(&mut met), found).await?;
            }
        }
        self.credit(met, found).await
    }

    /// The identifiers of the filter's person.
    async fn identifiers(&self) -> Result<Option<PersonIds>> {
        let Some(user) = self.filter.of else { return Ok(None) };
        let found =
            store::people::contact_info(self.app.db(), self.scope.workspace, &[user]).await?;
        let external_id = found.into_iter().find_map(|(_, info)| info.external_id);
        let (db, workspace) = (self.app.db(), self.scope.workspace);
        let further = further_identifiers(db, workspace, &[user]).await?.remove(&user);
        let mut ids = further.unwrap_or_default();
        ids.users.extend(std::iter::once(user.to_string()).chain(external_id));
        Ok(Some(ids))
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
        let places = |refuses: &dyn Fn(&Tracker) -> bool| -> Vec<u16> {
            let all = self.others.iter().enumerate().filter(|(_, other)| refuses(other));
            all.filter_map(|(place, _)| u16::try_from(place).ok()).collect()
        };
        Some(MatchedEvent {
            identifiers: [event.user_id, event.service_user_id],
            anonymous: event.anonymous,
            at_ms: event.at_ms,
            goals,
            not_counted_by: places(&|other| !other.converts(&candidate)),
            not_earned_by: places(&|other| !other.earns(&candidate)),
        })
    }

    async fn credit(&self, met: Vec<MatchedEvent>, found: &mut Credits) -> Result<()> {
        let Some(first) = met.iter().map(|event| event.at_ms).min() else { return Ok(()) };
        let last = met.iter().map(|event| event.at_ms).max().unwrap_or(first);
        let people = self.people(&met).await?;
        let windows = std::iter::once(self.own).chain(self.others);
        let window = windows.map(|it| it.tracking.window_hours()).max().unwrap_or(0);
        let start = first - millis(HOUR * window);
        let touches = self.touches(&people, start, last).await?;
        // Numbers continue after those of earlier chunks.
        let last_of = |credits: &[Credit]| credits.last().map_or(0, |credit| credit.event + 1);
        let first_number = last_of(&found.credited).max(last_of(&found.by_assignment));
        for (number, event) in (first_number..).zip(&met) {
            let near: Vec<&Touch> = people
                .of(event)
                .iter()
                .filter_map(|user| touches.get(user.bytes()))
                .flatten()
                .collect();
            let sent: Vec<&Touch> =
                near.iter().filter(|touch| touch.class <= CLASS_SENT).copied().collect();
            for goal in &event.goals {
                found.credited.extend(self.share(number, event, goal, &sent));
                if self.filter.by_assignment {
                    found.by_assignment.extend(self.share(number, event, goal, &near));
                }
            }
        }
        Ok(())
    }

    /// Finds the profiles of the identifiers in the events: of each person all profiles that were merged into one.
    pub(super) async fn people(&self, met: &[MatchedEvent]) -> Result<People> {
        let (db, workspace) = (self.app.db(), self.scope.workspace);
        let mut people = People::default();
        let identifiers: HashSet<&String> =
            met.iter().flat_map(|event| &event.identifiers).filter(|id| !id.is_empty()).collect();
        for id in &identifiers {
            // Only the canonical form in lower case is an internal id.
            if let Ok(user) = id.parse::<UserId>()
                && user.to_string() == **id
            {
                people.by_user.entry((*id).clone()).or_default().push(user);
            }
        }
        let identifiers: Vec<String> = identifiers.into_iter().cloned().collect();
        for (external_id, user) in
            store::people::of_external_ids(db, workspace, &identifiers).await?
        {
            people.by_user.entry(external_id).or_default().push(user);
        }
        let anonymous: HashSet<&String> =
            met.iter().map(|event| &event.anonymous).filter(|id| !id.is_empty()).collect();
        let anonymous: Vec<String> = anonymous.into_iter().cloned().collect();
        let unknown: Vec<String> =
            identifiers.into_iter().filter(|id| !people.by_user.contains_key(id)).collect();
        let linked = linked_profiles(db, workspace, &unknown, &anonymous).await?;
        for (id, profile) in linked.by_user {
            people.by_user.entry(id).or_default().push(profile.user);
        }
        for (id, profile) in linked.by_anonymous {
            people.by_anonymous.entry(id).or_default().push(profile.user);
        }
        let users: Vec<UserId> = people.users().copied().collect();
        let merged = store::people::merged(db, workspace, &users).await?;
        people.extend(&merged);
        Ok(people)
    }

    /// The messages sent to people, by person, oldest first.
    async fn touches(
        &self,
        people: &People,
        start_ms: i64,
        end_ms: i64,
    ) -> Result<HashMap<[u8; 12], Vec<Touch>>> {
        let users: BTreeSet<[u8; 12]> = people.users().map(|user| *user.bytes()).collect();
        let users: Vec<[u8; 12]> = users.into_iter().collect();
        let campaigns: Vec<Uuid> = std::iter::once(self.own)
            .chain(
                self.others
                    .iter()
                    .filter(|other| other.tracks(self.name) || self.name == ORDER_COMPLETED),
            )
            .map(|tracker| tracker.campaign.uuid())
            .collect();
        let mut by_user: HashMap<[u8; 12], Vec<Touch>> = HashMap::new();
        for some in users.chunks(PEOPLE_MAX) {
            let filter = TouchFilter {
                workspace: self.scope.workspace.uuid(),
                campaigns: &campaigns,
                unsent_of: self.scope.campaign.id.uuid(),
                variants: self.scope.variants(),
                people: some,
                start_ms,
                end_ms,
                touches_max: TOUCHES_MAX,
            };
            for touch in touches(self.app.analytics(), &filter).await? {
                by_user.entry(touch.user_id).or_default().push(touch);
            }
        }
        for all in by_user.values_mut() {
            all.sort_unstable_by_key(|touch| (touch.at_ms, touch.message));
        }
        Ok(by_user)
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
            let own = touch.campaign_id == self.own.campaign.uuid();
            let place = self.others.iter().position(|it| it.campaign.uuid() == touch.campaign_id);
            let tracker = match place {
                _ if own => self.own,
                Some(place) if !refusing.iter().any(|it| usize::from(*it) == place) => {
                    &self.others[place]
                }
                _ => continue,
            };
            let window_hours = tracker.tracking.window_hours();
            candidates.push(attribution::Touch { at_ms: touch.at_ms, window_hours });
            of.push((own, *touch));
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
                    goal: goal.clone(),
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

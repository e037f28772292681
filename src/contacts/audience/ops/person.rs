//! Which of a few profiles are in audiences. The query starts from the profiles, so its cost does not depend on the
//! size of the audiences.

use std::collections::{HashMap, HashSet};

use analytics::{
    events::{self, PeopleFilter, PersonIds, TrackedTimes},
    messages::{self, EngagementFilter as Engaged},
};
use futures_util::future::try_join_all;
use kernel::{Result, UserId, WorkspaceId};
use web::Services;

use super::further_identifiers;
use super::{
    people::{EventQuery, internal_id},
    saved::saved_targetings,
};
use crate::{
    model::{
        AudienceQuery, Filter, Person, SavedTargetings, Targeting,
        filter::{EngagementFilter, EventFilter},
        saved::EXPANDED_MAX,
    },
    store::{
        self,
        filter::{self, Frame, PeopleSet, PeopleSets},
        survivors::merged_into,
    },
};

/// Queries to ClickHouse at the same time.
const CONCURRENT_QUERIES: usize = 4;
/// Event filters of one query to ClickHouse.
const FILTERS_PER_QUERY: usize = 25;
/// Targetings in one statement.
const TARGETINGS_PER_STATEMENT: usize = 20;

/// Whether a profile matches each of these targetings, in their order. Without a targeting every profile
/// matches. An unknown profile matches none. It uses the statement that finds audiences.
///
/// # Errors
/// As [`super::Audience::open`] and [`super::Audience::measure`].
pub async fn includes(
    app: &Services,
    workspace: WorkspaceId,
    person: &Person,
    targetings: &[Option<&Targeting>],
) -> Result<Vec<bool>> {
    let matching = matching(app, workspace, std::slice::from_ref(person), targetings).await?;
    Ok(matching.into_iter().map(|users| users.contains(&person.user)).collect())
}

/// Which of a few profiles match each of these targetings, in their order; otherwise as [`includes`].
///
/// # Errors
/// As [`includes`].
pub async fn matching(
    app: &Services,
    workspace: WorkspaceId,
    profiles: &[Person],
    targetings: &[Option<&Targeting>],
) -> Result<Vec<HashSet<UserId>>> {
    let given: Vec<&Targeting> = targetings.iter().copied().flatten().collect();
    let saved = saved_targetings(app.db(), workspace, &given).await?;
    let country = app.country(workspace).await?;
    let now = app.clock().now();
    let event_query =
        EventQuery { analytics: app.analytics(), workspace, now, among: None, by_copies: false };
    let users: Vec<UserId> = profiles.iter().map(|profile| profile.user).collect();
    let filters = EventFilters::of(&saved, &given);
    let people = if filters.is_empty() {
        PeopleSets::new()
    } else {
        let further = further_identifiers(app.db(), workspace, &users).await?;
        filters.answered(&event_query, &Owners::of(profiles, &further)).await?
    };
    let queries: Vec<AudienceQuery<'_>> = targetings
        .iter()
        .map(|targeting| AudienceQuery { targeting: *targeting, channel: None, list: None })
        .collect();
    let mut matches = Vec::with_capacity(queries.len());
    let mut tx = store::begin(app.db()).await?;
    let survivors = merged_into(&mut tx, workspace, &users).await?;
    for chunk in statements(&queries, &saved) {
        let frames: Vec<Frame<'_>> = chunk
            .iter()
            .map(|query| Frame {
                workspace,
                country,
                query,
                lists_on: None,
                among: None,
                now,
                saved: &saved,
                people: &people,
                survivors: &survivors,
            })
            .collect();
        let mut found = vec![HashSet::new(); chunk.len()];
        for (user, are_in) in filter::matching(&mut tx, &frames, &users).await? {
            for (set, _) in found.iter_mut().zip(are_in).filter(|(_, is_in)| *is_in) {
                set.insert(user);
            }
        }
        matches.extend(found);
    }
    tx.rollback().await?;
    Ok(matches)
}

/// Queries in groups of one statement each, none of which is too large.
fn statements<'q, 'a>(
    queries: &'q [AudienceQuery<'a>],
    saved: &SavedTargetings,
) -> Vec<&'q [AudienceQuery<'a>]> {
    let (mut groups, mut rest) = (Vec::new(), queries);
    while !rest.is_empty() {
        let mut filters = 0;
        let fitting = rest.iter().take(TARGETINGS_PER_STATEMENT).take_while(|query| {
            filters += query.targeting.and_then(|it| saved.expanded(it)).unwrap_or(0);
            filters <= EXPANDED_MAX
        });
        let (group, others) = rest.split_at(fitting.count().max(1));
        groups.push(group);
        rest = others;
    }
    groups
}

/// A filter with its key.
#[derive(Debug)]
struct Keyed<'t, F> {
    key: String,
    filter: &'t F,
}

/// The event filters of some targetings, with their keys.
#[derive(Debug, Default)]
struct EventFilters<'t> {
    events: Vec<Keyed<'t, EventFilter>>,
    engagements: Vec<Keyed<'t, EngagementFilter>>,
}

impl<'t> EventFilters<'t> {
    fn of(saved: &'t SavedTargetings, given: &[&'t Targeting]) -> Self {
        let mut filters = Self::default();
        for (key, filter) in saved.event_filters(given) {
            match filter {
                Filter::Event(event) => filters.events.push(Keyed { key, filter: event }),
                Filter::Engagement(engagement) => {
                    filters.engagements.push(Keyed { key, filter: engagement });
                }
                _ => {}
            }
        }
        filters
    }

    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.engagements.is_empty()
    }

    /// The profiles that match each filter.
    async fn answered(
        self,
        event_query: &EventQuery<'_>,
        owners: &Owners<'_>,
    ) -> Result<PeopleSets> {
        let mut sets = PeopleSets::new();
        let events: Vec<_> = self.events.chunks(FILTERS_PER_QUERY).collect();
        for some in events.chunks(CONCURRENT_QUERIES) {
            let mut queries = Vec::with_capacity(some.len());
            for chunk in some {
                queries.push(performed(event_query, owners, chunk));
            }
            sets.extend(try_join_all(queries).await?.into_iter().flatten());
        }
        let engagements: Vec<_> = self.engagements.chunks(FILTERS_PER_QUERY).collect();
        for some in engagements.chunks(CONCURRENT_QUERIES) {
            let mut queries = Vec::with_capacity(some.len());
            for chunk in some {
                queries.push(engaged(event_query, owners, chunk));
            }
            sets.extend(try_join_all(queries).await?.into_iter().flatten());
        }
        Ok(sets)
    }
}

/// The profiles that events and messages belong to, by the ids that these may carry.
#[derive(Debug)]
struct Owners<'p> {
    profiles: &'p [Person],
    /// By what names a user in an event.
    by_identifier: HashMap<String, Vec<UserId>>,
    /// By what names them in an event without a user.
    by_anonymous: HashMap<String, UserId>,
    /// By the internal ids under which messages are recorded: their own, and those of profiles merged into them.
    by_internal: HashMap<String, UserId>,
}

impl<'p> Owners<'p> {
    fn of(profiles: &'p [Person], further: &HashMap<UserId, PersonIds>) -> Self {
        let mut by_identifier: HashMap<String, Vec<UserId>> = HashMap::new();
        let (mut by_anonymous, mut by_internal) = (HashMap::new(), HashMap::new());
        for profile in profiles {
            let user = profile.user;
            let ids = further.get(&user);
            let merged = ids.into_iter().flat_map(|ids| &ids.users);
            for id in profile.identifiers().chain(merged.clone().cloned()) {
                by_identifier.entry(id).or_default().push(user);
            }
            let internal = merged.filter(|id| internal_id(id).is_some());
            by_internal.extend(internal.map(|id| (id.clone(), user)));
            let anonymous = ids.into_iter().flat_map(|ids| &ids.anonymous);
            by_anonymous.extend(anonymous.map(|id| (id.clone(), user)));
        }
        by_internal.extend(profiles.iter().map(|profile| (profile.user.to_string(), profile.user)));
        Self { profiles, by_identifier, by_anonymous, by_internal }
    }

    /// The ids that their events may carry.
    fn person_ids(&self) -> PersonIds {
        PersonIds {
            users: self.by_identifier.keys().cloned().collect(),
            anonymous: self.by_anonymous.keys().cloned().collect(),
        }
    }

    /// The profiles of events tracked under these identifiers, each once.
    fn of_row(&self, row: &TrackedTimes) -> HashSet<UserId> {
        let named = [&row.user, &row.service_user];
        let named = named.into_iter().filter_map(|id| self.by_identifier.get(id)).flatten();
        named.chain(self.by_anonymous.get(&row.anonymous)).copied().collect()
    }
}

/// The profiles that match each of these event filters.
async fn performed(
    event_query: &EventQuery<'_>,
    owners: &Owners<'_>,
    filters: &[Keyed<'_, EventFilter>],
) -> Result<PeopleSets> {
    let asked: Result<Vec<PeopleFilter>> =
        filters.iter().map(|it| event_query.of_performers(it.filter, 1)).collect();
    let identifiers = owners.person_ids();
    let (analytics, workspace) = (event_query.analytics, event_query.workspace.uuid());
    let rows = events::times_of_people(analytics, workspace, &identifiers, &asked?).await?;
    let mut times: Vec<HashMap<UserId, u64>> = vec![HashMap::new(); filters.len()];
    for row in &rows {
        for user in owners.of_row(row) {
            for (of_filter, count) in times.iter_mut().zip(&row.times) {
                *of_filter.entry(user).or_default() += count;
            }
        }
    }
    let matching = filters.iter().zip(times).map(|(Keyed { key, filter }, times)| {
        let is_in = |user: &UserId| {
            let count = times.get(user).copied().unwrap_or(0);
            filter.count().range().is_some_and(|range| range.contains(count)) != filter.not
        };
        let users = owners.profiles.iter().map(|profile| profile.user).filter(is_in).collect();
        (key.clone(), PeopleSet::Known(users))
    });
    Ok(matching.collect())
}

/// The profiles that match each of these engagement filters.
async fn engaged(
    event_query: &EventQuery<'_>,
    owners: &Owners<'_>,
    filters: &[Keyed<'_, EngagementFilter>],
) -> Result<PeopleSets> {
    let asked: Vec<Engaged> =
        filters.iter().map(|it| event_query.of_engaged(it.filter, 1)).collect();
    let users: Vec<String> = owners.by_internal.keys().cloned().collect();
    let (analytics, workspace) = (event_query.analytics, event_query.workspace.uuid());
    let rows = messages::engaged_among(analytics, workspace, &users, &asked).await?;
    let matching = filters.iter().enumerate().map(|(at, Keyed { key, .. })| {
        let is_in = |row: &&messages::EngagedTimes| row.times.get(at).is_some_and(|it| *it > 0);
        let of = |row: &messages::EngagedTimes| owners.by_internal.get(&row.user_id).copied();
        let users: HashSet<UserId> = rows.iter().filter(is_in).filter_map(of).collect();
        (key.clone(), PeopleSet::Known(users.into_iter().collect()))
    });
    Ok(matching.collect())
}

//! Whether one profile is in audiences. The query starts from the profile, so its cost does not depend on the
//! size of the audiences.

use analytics::{
    events::{self, PersonIds},
    messages,
};
use futures_util::future::try_join_all;
use kernel::{Result, WorkspaceId};
use web::Services;

use super::people::{self, EventQuery, identifiers, internal_ids};
use crate::audience::{
    model::{AudienceQuery, Filter, Person, Targeting, filter::EventFilter},
    store::{
        self,
        filter::{self, Frame, PeopleSet},
    },
};

/// Event filters that are queried at the same time.
const CONCURRENT_QUERIES: usize = 4;
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
    let country = app.country(workspace).await?;
    let now = app.clock().now();
    let event_query = EventQuery { analytics: app.analytics(), workspace, now, among: None };
    let identifiers = identifiers(app.db(), workspace, std::slice::from_ref(person)).await?;
    let asked: Vec<(usize, &Filter)> = targetings
        .iter()
        .enumerate()
        .flat_map(|(at, targeting)| {
            let filters = targeting.iter().flat_map(|targeting| targeting.filters());
            filters.filter(|filter| filter.is_of_events()).map(move |filter| (at, filter))
        })
        .collect();
    let mut people: Vec<Vec<PeopleSet>> = vec![Vec::new(); targetings.len()];
    for some in asked.chunks(CONCURRENT_QUERIES) {
        let mut answers = Vec::with_capacity(some.len());
        for (_, filter) in some {
            answers.push(matches_event_filter(&event_query, &identifiers, filter));
        }
        for ((at, _), is_in) in some.iter().zip(try_join_all(answers).await?) {
            people[*at].push(PeopleSet::of_one(is_in));
        }
    }
    let queries: Vec<AudienceQuery<'_>> = targetings
        .iter()
        .map(|targeting| AudienceQuery { targeting: *targeting, channel: None, list: None })
        .collect();
    let mut tx = store::begin(app.db()).await?;
    let mut survivors = Vec::with_capacity(queries.len());
    for query in &queries {
        survivors.push(people::survivors(&mut tx, workspace, query.targeting).await?);
    }
    let frames: Vec<Frame<'_>> = queries
        .iter()
        .zip(&people)
        .zip(&survivors)
        .map(|((query, people), survivors)| Frame {
            workspace,
            country,
            query,
            among: None,
            now,
            people,
            survivors,
        })
        .collect();
    let mut matches = Vec::with_capacity(frames.len());
    for chunk in frames.chunks(TARGETINGS_PER_STATEMENT) {
        matches.extend(filter::includes(&mut tx, chunk, person.user).await?);
    }
    tx.rollback().await?;
    Ok(matches)
}

/// Whether the profile matches an event filter.
async fn matches_event_filter(
    event_query: &EventQuery<'_>,
    identifiers: &PersonIds,
    filter: &Filter,
) -> Result<bool> {
    match filter {
        Filter::Event(event) => performed(event_query, identifiers, event).await,
        Filter::Engagement(engagement) => {
            let (analytics, workspace) = (event_query.analytics, event_query.workspace.uuid());
            let asked = event_query.of_engaged(engagement, 1);
            for user in internal_ids(identifiers) {
                if messages::includes(analytics, workspace, &user, &asked).await? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Ok(false),
    }
}

async fn performed(
    event_query: &EventQuery<'_>,
    identifiers: &PersonIds,
    filter: &EventFilter,
) -> Result<bool> {
    let Some(range) = filter.count().range() else { return Ok(filter.not) };
    let asked = event_query.of_performers(filter, 1)?;
    let (analytics, workspace) = (event_query.analytics, event_query.workspace.uuid());
    let times = events::times_of(analytics, workspace, identifiers, &asked).await?;
    Ok(range.contains(times) != filter.not)
}

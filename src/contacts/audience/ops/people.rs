//! Results of event filters: streamed from ClickHouse to PostgreSQL in chunks, never held in memory as a whole.

use std::collections::BTreeSet;

use analytics::{
    Analytics,
    events::{self, PeopleFilter, PersonIds, ProfilesFilter, PropertyFilter, Times, Tracked},
    messages::{self, EngagementFilter as Engaged},
};
use kernel::{Error, Result, Timestamp, UserId, WorkspaceId, time::DAY};
use people_mirror::ops::has_identities;
use sqlx::{PgConnection, PgExecutor};

use super::further_identifiers;
use crate::{
    model::{
        Filter, Person, SavedTargetings, Targeting,
        filter::{CountRange, Engagement, EngagementFilter, EventFilter},
    },
    store::{
        filter::{PeopleSet, PeopleSets},
        people::{self, Found, Pairs},
        survivors::{self, Survivors},
    },
};

/// Most identifiers that the event filters of one targeting may match, all together. PostgreSQL holds about 100
/// bytes for each while it answers.
pub(super) const PEOPLE_MAX: u64 = 3_000_000;
/// Identifiers in a chunk on its way to PostgreSQL.
const CHUNK_IDENTIFIERS: usize = 50_000;

/// The arguments that all event filters of a targeting share.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventQuery<'a> {
    pub(super) analytics: &'a Analytics,
    pub(super) workspace: WorkspaceId,
    pub(super) now: Timestamp,
    /// The ids of the only profiles of interest; every profile where absent.
    pub(super) among: Option<&'a PersonIds>,
    /// Whether copies of all profiles and identifiers are as new as the answer is to be.
    pub(super) by_copies: bool,
}

impl EventQuery<'_> {
    /// The time range of a filter; open where it has no `withinDays`.
    pub(super) fn range(&self, within_days: Option<u32>) -> (Option<i64>, Option<i64>) {
        let start = |days| self.now.before(DAY * days).millis();
        (within_days.map(start), within_days.map(|_| self.now.millis()))
    }

    /// The query of an event filter, without its count.
    pub(super) fn of_performers(
        &self,
        filter: &EventFilter,
        people_max: u64,
    ) -> Result<PeopleFilter> {
        let (start_ms, end_ms) = self.range(filter.within_days);
        let properties = filter.properties.clone().unwrap_or_default();
        Ok(PeopleFilter {
            event_name: filter.name.clone(),
            start_ms,
            end_ms,
            properties: PropertyFilter::from_json(&properties).map_err(anyhow::Error::from)?,
            among: self.among.cloned(),
            people_max,
            any_times: false,
        })
    }

    /// The query of an engagement filter.
    pub(super) fn of_engaged(&self, filter: &EngagementFilter, people_max: u64) -> Engaged {
        let (start_ms, end_ms) = self.range(filter.within_days);
        Engaged {
            engagement: match filter.engagement {
                Engagement::Sent => messages::Engagement::Sent,
                Engagement::Opened => messages::Engagement::Opened,
                Engagement::Clicked => messages::Engagement::Clicked,
            },
            campaign: filter.campaign.map(kernel::CampaignId::uuid),
            channel: filter.channel.map(kernel::Channel::as_str),
            start_ms,
            end_ms,
            among: self.among.map(internal_ids),
            people_max,
        }
    }
}

/// The profiles into which some of the `userIds` of these targetings and of the segments they use were merged.
pub(super) async fn survivors(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    saved: &SavedTargetings,
    targetings: &[&Targeting],
) -> Result<Survivors> {
    let all = saved.with_used(targetings);
    let ids: BTreeSet<&str> = all
        .iter()
        .filter_map(|targeting| targeting.user_ids.as_deref())
        .flatten()
        .map(String::as_str)
        .collect();
    if ids.is_empty() {
        return Ok(Survivors::default());
    }
    let ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
    survivors::survivors(tx, workspace, &ids).await
}

/// The ids that events of these profiles may carry.
pub(super) async fn identifiers(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    profiles: &[Person],
) -> Result<PersonIds> {
    let users: Vec<UserId> = profiles.iter().map(|one| one.user).collect();
    let mut all = PersonIds::default();
    for further in further_identifiers(db, workspace, &users).await?.into_values() {
        all.users.extend(further.users);
        all.anonymous.extend(further.anonymous);
    }
    all.users.extend(profiles.iter().flat_map(Person::identifiers));
    Ok(all)
}

/// Those of a person's ids that are internal ids: messages are recorded under these alone.
pub(super) fn internal_ids(ids: &PersonIds) -> Vec<String> {
    ids.users.iter().filter(|id| internal_id(id).is_some()).cloned().collect()
}

/// Answers these event filters, each once. Also returns the number of identifiers.
pub(super) async fn gather(
    tx: &mut PgConnection,
    event_query: &EventQuery<'_>,
    filters: &[&Filter],
) -> Result<(PeopleSets, u64)> {
    people::create(tx).await?;
    let has_identities = has_identities(&mut *tx, event_query.workspace).await?;
    let mut sets = PeopleSets::new();
    let mut left = PEOPLE_MAX;
    for filter in filters {
        let number = i16::try_from(sets.len()).map_err(anyhow::Error::from)?;
        let mut set = Set { has_identities, ..Set::new(number, left) };
        let outside = match filter {
            Filter::Event(event) => performers(tx, event_query, event, &mut set).await?,
            Filter::Engagement(engagement) => {
                engaged(tx, event_query, engagement, &mut set).await?;
                false
            }
            _ => false,
        };
        set.flush(tx).await?;
        let are_profiles = event_query.by_copies && matches!(filter, Filter::Event(_));
        let is_distinct = are_profiles || !has_identities && !set.has_tokens;
        if has_identities
            && !are_profiles
            && people::add_linked(tx, event_query.workspace, number).await?
        {
            set.has_ids = true;
        }
        left = set.left;
        let (has_tokens, has_ids) = (set.has_tokens, set.has_ids);
        sets.insert(
            filter.key(),
            PeopleSet::Stored { filter: number, has_tokens, has_ids, outside, is_distinct },
        );
    }
    metrics_catalogue::AUDIENCE_IDENTIFIERS.increment(PEOPLE_MAX - left);
    Ok((sets, PEOPLE_MAX - left))
}

/// The people that match one filter, buffered on their way to PostgreSQL.
struct Set {
    number: i16,
    /// How many more identifiers are permitted.
    left: u64,
    tokens: Vec<String>,
    ids: Vec<Vec<u8>>,
    /// Anonymous ids, which belong to a profile by their links alone.
    anonymous: Vec<String>,
    has_tokens: bool,
    has_ids: bool,
    /// Whether the workspace has links, aliases or merged profiles.
    has_identities: bool,
}

impl Set {
    fn new(number: i16, left: u64) -> Self {
        Self {
            number,
            left,
            tokens: Vec::new(),
            ids: Vec::new(),
            anonymous: Vec::new(),
            has_tokens: false,
            has_ids: false,
            has_identities: false,
        }
    }

    /// Counts one row of an answer against the limit.
    fn take(&mut self, what: &str) -> Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            Error::bad_request(format!(
                "targeting asks about more than {PEOPLE_MAX} people in {what}: narrow it with withinDays or properties"
            ))
        })?;
        Ok(())
    }

    /// An identifier as tracked: an external id, or an internal id in lower case.
    fn add(&mut self, token: String) {
        if let Some(id) = internal_id(&token) {
            self.add_profile(id);
        }
        self.tokens.push(token);
        self.has_tokens = true;
    }

    fn add_profile(&mut self, profile: UserId) {
        self.ids.push(profile.bytes().to_vec());
        self.has_ids = true;
    }

    async fn flush_full(&mut self, tx: &mut PgConnection) -> Result<()> {
        let most = self.tokens.len().max(self.ids.len()).max(self.anonymous.len());
        if most < CHUNK_IDENTIFIERS {
            return Ok(());
        }
        self.flush(tx).await
    }

    async fn flush(&mut self, tx: &mut PgConnection) -> Result<()> {
        if !self.tokens.is_empty() || !self.ids.is_empty() || !self.anonymous.is_empty() {
            let found = Found { tokens: &self.tokens, ids: &self.ids, anonymous: &self.anonymous };
            people::add(tx, self.number, found).await?;
            self.tokens.clear();
            self.ids.clear();
            self.anonymous.clear();
        }
        Ok(())
    }
}

/// Parses an internal id. It is always written in lower case.
pub(super) fn internal_id(token: &str) -> Option<UserId> {
    let is_written_so = token.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_written_so { token.parse().ok() } else { None }
}

/// Adds the people that match an event filter to the set. Returns whether the filter matches everyone but them.
async fn performers(
    tx: &mut PgConnection,
    event_query: &EventQuery<'_>,
    filter: &EventFilter,
    set: &mut Set,
) -> Result<bool> {
    // ClickHouse only knows who performed the event, so zero times are queried by their complement.
    let (range, outside) = match filter.count().range() {
        None => return Ok(filter.not),
        Some(CountRange { least: 0, most: u64::MAX }) => return Ok(!filter.not),
        Some(CountRange { least: 0, most }) => {
            (CountRange { least: most + 1, most: u64::MAX }, !filter.not)
        }
        Some(range) => (range, filter.not),
    };
    let mut asked = event_query.of_performers(filter, set.left + 1)?;
    asked.any_times = range == CountRange::ANY;
    if event_query.by_copies {
        profiles(tx, event_query, asked, range, set).await?;
        return Ok(outside);
    }
    let mut answer =
        events::people(event_query.analytics, event_query.workspace.uuid(), &asked).await?;
    let mut counted = Counted::new(range, set.has_identities);
    while let Some(tracked) = answer.next().await? {
        set.take(&format!("the event {:?}", filter.name))?;
        counted.add(tx, set, tracked).await?;
        set.flush_full(tx).await?;
    }
    counted.finish(tx, event_query.workspace, set).await?;
    Ok(outside)
}

/// Adds the profiles with a number of these events in a range to the set: ClickHouse knows which they are.
async fn profiles(
    tx: &mut PgConnection,
    event_query: &EventQuery<'_>,
    of: PeopleFilter,
    range: CountRange,
    set: &mut Set,
) -> Result<()> {
    let what = format!("the event {:?}", of.event_name);
    let CountRange { least, most } = range;
    let times = (!of.any_times).then_some(Times { least, most });
    let asked = ProfilesFilter { of, times, has_links: set.has_identities };
    let (analytics, workspace) = (event_query.analytics, event_query.workspace.uuid());
    let mut answer = events::profiles(analytics, workspace, &asked).await?;
    while let Some(profile) = answer.next().await? {
        set.take(&what)?;
        set.add_profile(profile);
        set.flush_full(tx).await?;
    }
    Ok(())
}

/// Counts events by person. While every event has one identifier, no identifier is an internal id, and none is linked, a
/// person is an identifier. Otherwise two identifiers may be the same person, and PostgreSQL adds their counts up.
struct Counted {
    range: CountRange,
    pairs: Pairs,
    is_mixed: bool,
}

impl Counted {
    fn new(range: CountRange, has_identities: bool) -> Self {
        let is_mixed = has_identities && range != CountRange::ANY;
        Self { range, pairs: Pairs::default(), is_mixed }
    }

    /// Whether one event is enough to match.
    fn is_any(&self) -> bool {
        self.range == CountRange::ANY
    }

    async fn add(&mut self, tx: &mut PgConnection, set: &mut Set, tracked: Tracked) -> Result<()> {
        let Tracked { user_id, service_user_id, anonymous_id, times } = tracked;
        let tokens = [user_id, service_user_id];
        if !self.is_any() {
            self.is_mixed |= tokens.iter().all(|token| !token.is_empty())
                || tokens.iter().any(|token| internal_id(token).is_some());
            let [first, second] = tokens.clone();
            self.pairs.firsts.push(first);
            self.pairs.seconds.push(second);
            self.pairs.anonymous.push(anonymous_id.clone());
            self.pairs.times.push(i64::try_from(times).unwrap_or(i64::MAX));
            if self.pairs.times.len() >= CHUNK_IDENTIFIERS {
                self.flush(tx, set.number).await?;
            }
        }
        if self.range.contains(times) {
            let [first, second] = tokens;
            let second = if second == first { String::new() } else { second };
            for token in [first, second].into_iter().filter(|token| !token.is_empty()) {
                set.add(token);
            }
            if !anonymous_id.is_empty() {
                set.anonymous.push(anonymous_id);
            }
        }
        Ok(())
    }

    async fn flush(&mut self, tx: &mut PgConnection, number: i16) -> Result<()> {
        people::add_tracked(tx, number, &self.pairs).await?;
        self.pairs = Pairs::default();
        Ok(())
    }

    async fn finish(
        mut self,
        tx: &mut PgConnection,
        workspace: WorkspaceId,
        set: &mut Set,
    ) -> Result<()> {
        if !self.is_mixed {
            return Ok(());
        }
        self.flush(tx, set.number).await?;
        set.tokens.clear();
        set.ids.clear();
        set.anonymous.clear();
        people::count_by_profile(tx, workspace, set.number, self.range).await?;
        (set.has_tokens, set.has_ids) = (false, true);
        Ok(())
    }
}

/// Adds the people that match an engagement filter to the set.
async fn engaged(
    tx: &mut PgConnection,
    event_query: &EventQuery<'_>,
    filter: &EngagementFilter,
    set: &mut Set,
) -> Result<()> {
    let asked = event_query.of_engaged(filter, set.left + 1);
    let mut answer = messages::people(event_query.analytics, event_query.workspace.uuid(), &asked)?;
    while let Some(profile) = answer.next().await? {
        set.take("an engagement filter")?;
        set.add_profile(profile);
        set.flush_full(tx).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_people_is_exact() {
        let mut set = Set::new(0, 2);
        set.take("A").expect("the first");
        set.take("A").expect("the second");
        let refusal = set.take("the event \"A\"").expect_err("the third");
        assert_eq!(
            refusal.to_string(),
            "targeting asks about more than 3000000 people in the event \"A\": narrow it with withinDays or properties"
        );
        assert_eq!(set.left, 0);
    }

    #[test]
    fn only_lower_case_internal_ids_are_parsed() {
        for (token, expected) in [
            ("65abcdef0123456789abcdef", true),
            ("65ABCDEF0123456789abcdef", false),
            ("65abcdef0123456789abcde", false),
            ("customer-1", false),
            ("", false),
        ] {
            assert_eq!(internal_id(token).is_some(), expected, "{token}");
        }
    }
}

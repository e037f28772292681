//! Queries of audiences: ClickHouse finds the people of event filters, PostgreSQL does the rest.

mod further;
mod people;
mod person;
mod saved;
mod segments;
mod snapshot;

use std::{collections::HashSet, sync::Arc};

use kernel::{Channel, Country, Result, Timestamp, UserId, WorkspaceId, page::PageWindow};
use sqlx::PgConnection;
use web::shares::SharePermit;

use self::snapshot::{Permits, Snapshot};
use super::{
    model::{
        AudienceQuery, Filter, Measured, MeasuredByChannel, Person, Preview, Reached, Recipient,
        SavedTargetings, Targeting,
    },
    store::{
        self,
        filter::{self, Frame, PeopleSets, clocks, measure},
        members,
        survivors::Survivors,
    },
};
use crate::AudienceState;

pub use self::{
    further::further_identifiers,
    person::{includes, matching},
    saved::{fault, hold_segments, saved_targetings},
    segments::segments_of,
};

/// A preview first scans this number of the profiles changed last, for each profile it shows.
const LATEST_PER_SHOWN: u32 = 100;
const LATEST_MIN: u32 = 2000;
/// With at least this number of identifiers, some of the profiles changed last are likely to match.
const PEOPLE_MANY: u64 = 20_000;

/// A transaction that answers queries of one audience from one snapshot.
#[derive(Debug)]
pub struct Audience<'a> {
    snapshot: Snapshot,
    workspace: WorkspaceId,
    country: Option<Country>,
    query: &'a AudienceQuery<'a>,
    lists_on: Option<Channel>,
    among: Option<&'a [Person]>,
    now: Timestamp,
    saved: SavedTargetings,
    people: PeopleSets,
    /// The number of identifiers in `people`.
    identifiers: u64,
    /// Profiles into which some `userIds` were merged.
    survivors: Survivors,
}

impl<'a> Audience<'a> {
    /// Opens the snapshot, and queries ClickHouse for event filters. It waits while many audiences are scanned.
    ///
    /// # Errors
    /// Bad request when an event filter matches more people than can be held; unavailable when a database is, or
    /// when too many audiences are scanned for long.
    pub async fn open(
        app: &AudienceState,
        workspace: WorkspaceId,
        query: &'a AudienceQuery<'a>,
    ) -> Result<Self> {
        let permit = app.scan_permit(workspace).await?;
        Self::open_among(app, workspace, query, None, Some(permit)).await
    }

    /// Opens the audience of a message that is being sent, which waits for no other scan.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_for_sending(
        app: &AudienceState,
        workspace: WorkspaceId,
        query: &'a AudienceQuery<'a>,
    ) -> Result<Self> {
        Self::open_among(app, workspace, query, None, None).await
    }

    async fn open_among(
        app: &AudienceState,
        workspace: WorkspaceId,
        query: &'a AudienceQuery<'a>,
        among: Option<&'a [Person]>,
        scan: Option<SharePermit>,
    ) -> Result<Self> {
        let given: Vec<&Targeting> = query.targeting.into_iter().collect();
        let saved = saved_targetings(app.db(), workspace, &given).await?;
        let filters: Vec<&Filter> = saved.event_filters(&given).into_values().collect();
        let events =
            if filters.is_empty() { None } else { Some(app.event_audience_permit().await?) };
        let permits = Arc::new(Permits::new(events, scan));
        let country = app.country(workspace).await?;
        let has_events = filters.iter().any(|filter| matches!(filter, Filter::Event(_)));
        // A few profiles are found by their identifiers, which costs little.
        let by_copies = has_events && among.is_none() && app.has_copies(workspace).await?;
        let now = app.clock().now();
        let tx = store::begin(app.db()).await?;
        let mut snapshot = Snapshot::new(tx, Arc::clone(&permits));
        let tx = snapshot.connection();
        let (people, identifiers) = if filters.is_empty() {
            (PeopleSets::new(), 0)
        } else {
            let analytics = &app.analytics().keeping(permits);
            let ids = match among {
                Some(profiles) => Some(people::identifiers(&mut *tx, workspace, profiles).await?),
                None => None,
            };
            let among = ids.as_ref();
            let event_query = people::EventQuery { analytics, workspace, now, among, by_copies };
            people::gather(tx, &event_query, &filters).await?
        };
        let survivors = people::survivors(tx, workspace, &saved, &given).await?;
        Ok(Self {
            snapshot,
            workspace,
            country,
            query,
            lists_on: query.channel,
            among,
            now,
            saved,
            people,
            identifiers,
            survivors,
        })
    }

    /// Opens the audience of a segment. Who is in it does not depend on a channel.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_segment(
        app: &AudienceState,
        workspace: WorkspaceId,
        query: &'a AudienceQuery<'a>,
    ) -> Result<Self> {
        Ok(Self { lists_on: None, ..Self::open(app, workspace, query).await? })
    }

    /// The number of matching profiles, and how many of them can be reached.
    ///
    /// # Errors
    /// Bad request when the statement takes too long; unavailable when the database is.
    pub async fn measure(&mut self) -> Result<Measured> {
        let (tx, frame) = self.parts();
        measure::measure(tx, frame).await
    }

    /// The size of the audience, were it sent to on each channel.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub async fn measure_by_channel(&mut self) -> Result<MeasuredByChannel> {
        let (tx, frame) = self.parts();
        measure::measure_by_channel(tx, frame).await
    }

    /// A page of matching profiles, latest change first.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub async fn latest(&mut self, window: PageWindow) -> Result<Vec<UserId>> {
        let (tx, frame) = self.parts();
        filter::newest(tx, frame, window).await
    }

    /// The size of the audience, and the matching profiles that changed last.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub async fn preview(&mut self, limit: u32) -> Result<Preview> {
        let identifiers = self.identifiers;
        let (tx, frame) = self.parts();
        // Of a large audience, some of the latest profiles match, and only the counts are missing. Of a small one they
        // may not; then one scan finds both.
        let latest = i64::from(LATEST_MIN.max(limit.saturating_mul(LATEST_PER_SHOWN)));
        let shown = usize::try_from(limit).unwrap_or(usize::MAX);
        let found = if frame.people.is_empty() {
            let newest = filter::newest_among(tx, frame, latest, limit).await?;
            if newest.len() < shown {
                None
            } else {
                Some((measure::measure(tx, frame).await?, newest))
            }
        } else if identifiers >= PEOPLE_MANY {
            // Each statement has to read the sets again, so one statement does it all. New profiles may have no
            // events yet, so the number of profiles scanned grows with the sets.
            let latest = latest.max(i64::try_from(identifiers / 4).unwrap_or(i64::MAX));
            let (measured, mut newest) = measure::measure_with_latest(tx, frame, latest).await?;
            let is_complete = usize::try_from(measured.matched) == Ok(newest.len());
            if newest.len() < shown && !is_complete {
                newest = filter::newest(tx, frame, PageWindow { limit, offset: 0 }).await?;
            }
            Some((measured, newest))
        } else {
            None
        };
        let (measured, mut newest) = match found {
            Some(found) => found,
            None => filter::measure_with_newest(tx, frame, i64::from(limit)).await?,
        };
        newest.truncate(shown);
        let users = members::in_order(tx, frame.workspace, &newest).await?;
        Ok(Preview { measured, users })
    }

    /// A page of matching profiles in id order (keyset), with the exclusion reason.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub async fn page(&mut self, after: Option<UserId>, size: u32) -> Result<Vec<Reached>> {
        let (tx, frame) = self.parts();
        filter::page(tx, frame, after, i64::from(size)).await
    }

    /// A page of reachable profiles in id order (keyset).
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub async fn reachable_page(
        &mut self,
        after: Option<UserId>,
        size: u32,
    ) -> Result<Vec<Recipient>> {
        let (tx, frame) = self.parts();
        clocks::page(tx, frame, after, i64::from(size)).await
    }

    /// Ends the transaction.
    ///
    /// # Errors
    /// When the database is unavailable.
    pub async fn close(self) -> Result<()> {
        self.snapshot.close().await
    }

    fn parts(&mut self) -> (&mut PgConnection, Frame<'_>) {
        let frame = Frame {
            workspace: self.workspace,
            country: self.country,
            query: self.query,
            lists_on: self.lists_on,
            among: self.among,
            now: self.now,
            saved: &self.saved,
            people: &self.people,
            survivors: &self.survivors,
        };
        (self.snapshot.connection(), frame)
    }
}

/// The number of profiles in an audience, and how many of them can be reached.
///
/// # Errors
/// As [`Audience::open`] and [`Audience::measure`].
pub async fn measure(
    app: &AudienceState,
    workspace: WorkspaceId,
    query: &AudienceQuery<'_>,
) -> Result<Measured> {
    let mut audience = Audience::open(app, workspace, query).await?;
    let measured = audience.measure().await?;
    audience.close().await?;
    Ok(measured)
}

/// The matching profiles among a few. The cost depends on these, not on the size of the audience.
///
/// # Errors
/// As [`Audience::open`] and [`Audience::measure`].
pub async fn among(
    app: &AudienceState,
    workspace: WorkspaceId,
    query: &AudienceQuery<'_>,
    profiles: &[Person],
) -> Result<HashSet<UserId>> {
    let mut audience = Audience::open_among(app, workspace, query, Some(profiles), None).await?;
    let size = u32::try_from(profiles.len()).unwrap_or(u32::MAX);
    let page = audience.page(None, size).await?;
    audience.close().await?;
    Ok(page.into_iter().map(|reached| reached.user).collect())
}

/// The size of an audience, and the matching profiles that changed last.
///
/// # Errors
/// As [`Audience::open`] and [`Audience::measure`].
pub async fn preview(
    app: &AudienceState,
    workspace: WorkspaceId,
    query: &AudienceQuery<'_>,
    limit: u32,
) -> Result<Preview> {
    let mut audience = Audience::open(app, workspace, query).await?;
    let preview = audience.preview(limit).await?;
    audience.close().await?;
    Ok(preview)
}

/// A page of matching profiles in id order. A caller that needs all pages keeps an [`Audience`] open: then they
/// come from one snapshot, and event filters are answered once.
///
/// # Errors
/// As [`Audience::open`] and [`Audience::measure`].
pub async fn page(
    app: &AudienceState,
    workspace: WorkspaceId,
    query: &AudienceQuery<'_>,
    after: Option<UserId>,
    size: u32,
) -> Result<Vec<Reached>> {
    let mut audience = Audience::open(app, workspace, query).await?;
    let page = audience.page(after, size).await?;
    audience.close().await?;
    Ok(page)
}

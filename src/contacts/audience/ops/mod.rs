//! Asking an audience: first ClickHouse for the people of its event filters, then PostgreSQL for the rest.

mod people;
mod person;

use std::{collections::HashSet, time::Duration};

use kernel::{Error, Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, Postgres, Transaction};
use tokio::sync::{Semaphore, SemaphorePermit};
use web::Services;

use super::{
    model::{Ask, Filter, Measured, Person, Preview, Reached, Recipient},
    store::{
        self,
        filter::{self, Frame, PeopleSet, clocks, measure},
        members,
    },
};

pub use self::person::includes;

/// Audiences with event filters that may be looked at at one time: each holds sets of people in PostgreSQL.
const EVENT_LOOKS_MAX: usize = 4;
/// How long a look waits for its turn.
const TURN_WAIT_MAX: Duration = Duration::from_secs(10);
/// Profiles that changed last among which a preview first looks for those it shows, per profile shown.
const LATEST_PER_SHOWN: u32 = 100;
const LATEST_MIN: u32 = 2000;
/// Identifiers of event filters from which on some of the latest are likely to be among those meant.
const PEOPLE_MANY: u64 = 20_000;

/// Turns at looking at audiences with event filters.
static EVENT_LOOKS: Semaphore = Semaphore::const_new(EVENT_LOOKS_MAX);

/// One look at one audience: whatever it is asked, it answers for the moment it was opened.
#[derive(Debug)]
pub struct Audience<'a> {
    tx: Transaction<'static, Postgres>,
    workspace: WorkspaceId,
    ask: &'a Ask<'a>,
    among: Option<&'a [Person]>,
    now: Timestamp,
    people: Vec<PeopleSet>,
    /// How many identifiers they are.
    identifiers: u64,
    _turn: Option<SemaphorePermit<'static>>,
}

impl<'a> Audience<'a> {
    /// Opens a look, and asks ClickHouse what only it knows.
    ///
    /// # Errors
    /// Bad request when an event filter means more people than can be held; unavailable when a store is.
    pub async fn open(app: &Services, workspace: WorkspaceId, ask: &'a Ask<'a>) -> Result<Self> {
        Self::open_among(app, workspace, ask, None).await
    }

    async fn open_among(
        app: &Services,
        workspace: WorkspaceId,
        ask: &'a Ask<'a>,
        among: Option<&'a [Person]>,
    ) -> Result<Self> {
        let asks_events =
            ask.targeting.is_some_and(|targeting| targeting.filters().any(Filter::is_of_events));
        let turn = if asks_events {
            let turn = tokio::time::timeout(TURN_WAIT_MAX, EVENT_LOOKS.acquire()).await;
            Some(turn.ok().and_then(Result::ok).ok_or_else(Error::store_unavailable)?)
        } else {
            None
        };
        let now = app.clock().now();
        let mut tx = store::begin(app.db()).await?;
        let (people, identifiers) = match ask.targeting {
            Some(targeting) if asks_events => {
                let analytics = app.analytics();
                let question = people::Question { analytics, workspace, now, among };
                people::gather(&mut tx, &question, targeting).await?
            }
            _ => (Vec::new(), 0),
        };
        Ok(Self { tx, workspace, ask, among, now, people, identifiers, _turn: turn })
    }

    /// How many are meant, and how many of them can be reached.
    ///
    /// # Errors
    /// Bad request when the statement takes too long; unavailable when the store is.
    pub async fn measure(&mut self) -> Result<Measured> {
        let (tx, frame) = self.parts();
        measure::measure(tx, frame).await
    }

    /// How many they are, and those meant who changed last.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub async fn preview(&mut self, limit: u32) -> Result<Preview> {
        let identifiers = self.identifiers;
        let (tx, frame) = self.parts();
        // Of a large audience some of the latest belong to it, and counting the rest is all there is to
        // do. Of a small one they may not; then it is looked through once, and held.
        let latest = i64::from(LATEST_MIN.max(limit.saturating_mul(LATEST_PER_SHOWN)));
        let shown = usize::try_from(limit).unwrap_or(usize::MAX);
        let found = if frame.people.is_empty() {
            let newest = filter::newest_among(tx, frame, latest, i64::from(limit)).await?;
            if newest.len() < shown {
                None
            } else {
                Some((measure::measure(tx, frame).await?, newest))
            }
        } else if identifiers >= PEOPLE_MANY {
            // Each statement has to take them in anew, so one does it all. Profiles that are new may have
            // done nothing yet: the more people there are, the more of the latest are kept.
            let latest = latest.max(i64::try_from(identifiers / 4).unwrap_or(i64::MAX));
            let (measured, mut newest) = measure::measure_with_latest(tx, frame, latest).await?;
            let is_everybody = usize::try_from(measured.matched) == Ok(newest.len());
            if newest.len() < shown && !is_everybody {
                newest = filter::newest(tx, frame, i64::from(limit)).await?;
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

    /// So many of those meant by id, after the given one: one after the other, all of them, each once, with
    /// the reason where they cannot be reached.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub async fn page(&mut self, after: Option<UserId>, size: u32) -> Result<Vec<Reached>> {
        let (tx, frame) = self.parts();
        filter::page(tx, frame, after, i64::from(size)).await
    }

    /// So many of those who can be reached by id, after the given one.
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

    /// Ends the look; what it held is let go.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn close(self) -> Result<()> {
        Ok(self.tx.rollback().await?)
    }

    fn parts(&mut self) -> (&mut PgConnection, Frame<'_>) {
        let frame = Frame {
            workspace: self.workspace,
            ask: self.ask,
            among: self.among,
            now: self.now,
            people: &self.people,
        };
        (&mut self.tx, frame)
    }
}

/// How many an audience means, and how many of them can be reached.
///
/// # Errors
/// As [`Audience::open`] and [`Audience::measure`].
pub async fn measure(app: &Services, workspace: WorkspaceId, ask: &Ask<'_>) -> Result<Measured> {
    let mut audience = Audience::open(app, workspace, ask).await?;
    let measured = audience.measure().await?;
    audience.close().await?;
    Ok(measured)
}

/// Those of a few whom the targeting means: a look that costs what they cost, however large the audience is.
///
/// # Errors
/// As [`Audience::open`] and [`Audience::measure`].
pub async fn among(
    app: &Services,
    workspace: WorkspaceId,
    ask: &Ask<'_>,
    few: &[Person],
) -> Result<HashSet<UserId>> {
    let mut audience = Audience::open_among(app, workspace, ask, Some(few)).await?;
    let size = u32::try_from(few.len()).unwrap_or(u32::MAX);
    let page = audience.page(None, size).await?;
    audience.close().await?;
    Ok(page.into_iter().map(|reached| reached.user).collect())
}

/// How many they are, and those meant who changed last.
///
/// # Errors
/// As [`Audience::open`] and [`Audience::measure`].
pub async fn preview(
    app: &Services,
    workspace: WorkspaceId,
    ask: &Ask<'_>,
    limit: u32,
) -> Result<Preview> {
    let mut audience = Audience::open(app, workspace, ask).await?;
    let preview = audience.preview(limit).await?;
    audience.close().await?;
    Ok(preview)
}

/// A page by id of those meant. A caller that wants them all opens an [`Audience`] and keeps it: then all
/// pages are of one moment, and event filters are answered once.
///
/// # Errors
/// As [`Audience::open`] and [`Audience::measure`].
pub async fn page(
    app: &Services,
    workspace: WorkspaceId,
    ask: &Ask<'_>,
    after: Option<UserId>,
    size: u32,
) -> Result<Vec<Reached>> {
    let mut audience = Audience::open(app, workspace, ask).await?;
    let page = audience.page(after, size).await?;
    audience.close().await?;
    Ok(page)
}

//! Attribution of conversions: the events that people did in the windows of their messages, credited to these.
//!
//! ```text
//! ClickHouse: events ⋈ identifiers ⋈ profiles ⋈ touches ─▶ credits, event by event
//! or           events ─▶ PostgreSQL: profiles ─▶ ClickHouse: touches ─▶ credits, chunk by chunk
//! ```
//!
//! The second way is taken where the copies of profiles in ClickHouse are late, and for one person. Either reads a time in
//! slices, so memory does not grow with the number of events; credits are added up by message.

use std::{collections::BTreeSet, time::Duration};

use analytics::messages::{FORMER_LINKS_MAX, campaign_rows, former_people, sole_base_currency};
use kernel::{
    Result, Timestamp, UserId, WorkspaceId,
    time::{HOUR, millis},
};
use people_mirror::ops::{has_identities, wait_for_profiles};
use uuid::Uuid;
use web::Services;

use super::{
    ReportScope,
    credit_list::{CreditList, Found},
    event_credits::{ConversionScan, CreditFilter, Joins, Lookup},
    event_people::former_links,
    slices::Slice,
};
use crate::{
    model::{
        goal::{ORDER_COMPLETED, Tracker},
        outcome::Credit,
    },
    store,
};

/// How long a report waits for copies of profiles.
const COPIES_WAIT_MAX: Duration = Duration::from_secs(1);

/// The outcomes of messages: of each message one sum a goal and currency.
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
/// If a store fails.
pub async fn credits(
    app: &Services,
    scope: &ReportScope,
    currency: Option<&str>,
    filter: &CreditFilter,
) -> Result<Credits> {
    let Some(tracking) = scope.campaign.definition.conversion_tracking.as_deref() else {
        return Ok(Credits::default());
    };
    let spans = scope.spans(app).await?.iter();
    let spans =
        spans.filter(|span| i64::from(span.occurrence) > i64::from(filter.after_occurrence));
    let first = spans.clone().map(|span| span.first_ms).min();
    let last = spans.map(|span| span.last_ms).max();
    let (Some(first), Some(last)) = (first, last) else { return Ok(Credits::default()) };
    let time = Slice {
        start_ms: first,
        end_ms: last.saturating_add(millis(HOUR * tracking.window_hours())),
    };
    let own = Tracker { campaign: scope.campaign.id, tracking: tracking.clone() };
    let (earliest, latest) =
        (Timestamp::from_millis(time.start_ms), Timestamp::from_millis(time.end_ms));
    let others =
        store::trackers::beside(app.db(), scope.workspace, scope.campaign.id, earliest, latest)
            .await?;
    let mut names: BTreeSet<&str> = own.conversions().map(|it| it.event_name.as_str()).collect();
    names.insert(ORDER_COMPLETED);
    if filter.primary_only {
        names.retain(|name| *name == own.tracking.primary_conversion.event_name);
    }
    let untrusted = untrusted_names(app, scope.workspace).await?;
    let lookup = lookup(app, scope, &others, filter).await?;
    let is_added_up = filter.of.is_none();
    let mut found = Found {
        credited: CreditList::new(is_added_up),
        by_assignment: CreditList::new(is_added_up),
        events: 0,
    };
    for name in names {
        let counts_it = |it: &&Tracker| it.tracks(name) || name == ORDER_COMPLETED;
        let scan = ConversionScan {
            app,
            scope,
            own: &own,
            others: others.iter().filter(counts_it).collect(),
            name,
            without_apps: untrusted.iter().any(|it| it == name),
            currency,
            filter,
        };
        scan.run(time, &lookup, &mut found).await?;
    }
    Ok(Credits {
        credited: found.credited.into_credits(),
        by_assignment: found.by_assignment.into_credits(),
    })
}

/// Decides how people are found.
async fn lookup(
    app: &Services,
    scope: &ReportScope,
    others: &[Tracker],
    filter: &CreditFilter,
) -> Result<Lookup> {
    let (db, workspace) = (app.db(), scope.workspace);
    let is_stored = filter.of.is_some() || filter.scan.in_postgres;
    if is_stored || !wait_for_profiles(db, workspace, COPIES_WAIT_MAX).await? {
        return Ok(Lookup::Stored);
    }
    // After the wait: where there are none now, the copies have none either.
    let has_identities = has_identities(db, workspace).await?;
    let campaigns: Vec<Uuid> = std::iter::once(scope.campaign.id.uuid())
        .chain(others.iter().map(|other| other.campaign.uuid()))
        .collect();
    let deleted =
        former_people(app.analytics(), workspace.uuid(), &campaigns, FORMER_LINKS_MAX + 1).await?;
    if deleted.len() > FORMER_LINKS_MAX {
        return Ok(Lookup::Stored);
    }
    let deleted: Vec<UserId> = deleted.into_iter().map(UserId::from_bytes).collect();
    let former = former_links(db, workspace, &deleted).await?;
    if former.are_too_many() {
        return Ok(Lookup::Stored);
    }
    let rows = campaign_rows(app.analytics(), workspace.uuid(), &campaigns).await?;
    let rows = rows.into_iter().map(|of| (of.campaign_id, of.rows)).collect();
    Ok(Lookup::Joined(Joins { has_identities, former, rows }))
}

/// The names of events that do not count from apps: those that trigger a campaign, unless they are trusted.
pub(super) async fn untrusted_names(app: &Services, workspace: WorkspaceId) -> Result<Vec<String>> {
    let mut names = store::trackers::triggering(app.db(), workspace).await?;
    names.retain(|name| !app.sdk_trusted_events().contains(name));
    Ok(names)
}

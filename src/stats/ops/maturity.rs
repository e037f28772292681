//! How far the outcomes of messages are known: attribution windows that are over, and the age up to which both sides of a
//! comparison can be counted.

use analytics::messages::{self, Cohort};
use kernel::{
    Result, Timestamp,
    time::{HOUR, millis},
};
use web::Services;

use super::ReportScope;

/// Share of the windows that have to be over before results count as final.
pub const CLOSED_MIN: f64 = 0.95;

/// How many attribution windows are over.
#[derive(Debug, Clone, PartialEq)]
pub struct Maturity {
    /// Share of the messages whose window is over.
    pub closed: f64,
    /// When the last window ends; none if all are over.
    pub opens_until: Option<Timestamp>,
    /// The share by variant, by its number.
    pub by_variant: Vec<ClosedShare>,
    /// Age up to which the outcomes of nine of ten messages of each variant are known, in milliseconds: comparisons
    /// count outcomes up to it. None if all windows are over.
    pub cut_ms: Option<i64>,
}

/// The share of a variant's windows that are over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosedShare {
    /// The number of the variant, from 1.
    pub variant: u8,
    pub closed: f64,
}

impl Maturity {
    const OVER: Self =
        Self { closed: 1.0, opens_until: None, by_variant: Vec::new(), cut_ms: None };

    /// Whether comparisons may be called significant.
    pub fn is_comparable(&self) -> bool {
        self.closed >= CLOSED_MIN || self.cut_ms.is_some_and(|cut| cut > 0)
    }
}

/// Reports how many of the cohort's attribution windows are over. Of a campaign without conversions there are none.
pub(super) async fn maturity(
    app: &Services,
    scope: &ReportScope,
    cohort: &Cohort<'_>,
) -> Result<Maturity> {
    let Some(tracking) = scope.campaign.definition.conversion_tracking.as_deref() else {
        return Ok(Maturity::OVER);
    };
    let (now, window) = (app.clock().now(), millis(HOUR * tracking.window_hours()));
    let last = scope.spans(app).await?.iter().map(|span| span.last_ms).max();
    if last.is_none_or(|last| last.saturating_add(window) <= now.millis()) {
        return Ok(Maturity::OVER);
    }
    let found = messages::maturity(app.analytics(), cohort, now.millis() - window).await?;
    let (closed, all) =
        found.iter().fold((0, 0), |(closed, all), it| (closed + it.closed, all + it.messages));
    if closed == all {
        return Ok(Maturity::OVER);
    }
    let share = statistics::proportion::share;
    let by_variant = found
        .iter()
        .map(|it| ClosedShare { variant: it.variant, closed: share(it.closed, it.messages) });
    let youngest = found.iter().map(|it| now.millis() - it.young_ms).min();
    Ok(Maturity {
        closed: share(closed, all),
        opens_until: found
            .iter()
            .map(|it| Timestamp::from_millis(it.last_ms.saturating_add(window)))
            .max(),
        by_variant: by_variant.collect(),
        cut_ms: youngest.map(|age| age.clamp(0, window)),
    })
}

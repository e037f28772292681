//! Reports that are lists of counts: links, failures, and times to engage.

use analytics::messages::{self, Count, Delays, Failure, Link};
use kernel::Result;
use web::Services;

use super::ReportScope;
use crate::model::outcome::sum;

/// Clicked links, most clicked first; all clicks; and counts by progress.
///
/// # Errors
/// If ClickHouse fails.
pub async fn links(app: &Services, scope: &ReportScope) -> Result<(Vec<Link>, u64, Count)> {
    let cohort = scope.cohort();
    let (links, clicks, counts) = tokio::join!(
        messages::links(app.analytics(), &cohort),
        messages::clicks(app.analytics(), &cohort),
        scope.counts(app),
    );
    Ok((links?, clicks?, sum(&counts?)))
}

/// Why messages failed, the most frequent code first.
///
/// # Errors
/// If ClickHouse fails.
pub async fn failures(app: &Services, scope: &ReportScope) -> Result<Vec<Failure>> {
    Ok(messages::failures(app.analytics(), &scope.cohort()).await?)
}

/// Times to the first open and click.
///
/// # Errors
/// If ClickHouse fails.
pub async fn time_to_engage(app: &Services, scope: &ReportScope) -> Result<Delays> {
    Ok(messages::delays(app.analytics(), &scope.cohort()).await?)
}

//! Reports that are lists of counts: links, failures, and how long people took.

use analytics::messages::{self, Count, Delays, Failure, Link};
use kernel::Result;
use web::Services;

use super::Asked;
use crate::model::outcome::sum;

/// Links that were clicked, the most clicked first; all clicks; and how far the messages got.
///
/// # Errors
/// When ClickHouse fails.
pub async fn links(app: &Services, asked: &Asked) -> Result<(Vec<Link>, u64, Count)> {
    let cohort = asked.cohort();
    let (links, clicks, counts) = tokio::join!(
        messages::links(app.analytics(), &cohort),
        messages::clicks(app.analytics(), &cohort),
        asked.counts(app),
    );
    Ok((links?, clicks?, sum(&counts?)))
}

/// Why messages did not arrive, the most frequent code first.
///
/// # Errors
/// When ClickHouse fails.
pub async fn failures(app: &Services, asked: &Asked) -> Result<Vec<Failure>> {
    Ok(messages::failures(app.analytics(), &asked.cohort()).await?)
}

/// How long people took to open and to click.
///
/// # Errors
/// When ClickHouse fails.
pub async fn time_to_engage(app: &Services, asked: &Asked) -> Result<Delays> {
    Ok(messages::delays(app.analytics(), &asked.cohort()).await?)
}

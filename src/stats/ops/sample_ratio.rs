//! Whether an audience was divided by the weights of the variants.

use analytics::messages::{Cohort, Count, assignments};
use campaigns::model::trial::Trial;
use kernel::Result;
use statistics::sample_ratio::ChiSquare;
use web::Services;

use super::ReportScope;

/// Whether people were divided by the weights that were in force when they were assigned first. Not tested once a winner
/// got the rest if the messages of the test are not known apart, nor if learning sets the shares.
pub(super) async fn sample_ratio(
    app: &Services,
    scope: &ReportScope,
    cohort: &Cohort<'_>,
    counts: &[Count],
) -> Result<Option<ChiSquare>> {
    let variants = &scope.campaign.definition.variants;
    let has_winner =
        Trial::of(&scope.campaign).is_some_and(|trial| trial.winner_variant_id.is_some());
    if scope.campaign.state.rl.is_some()
        || variants.len() < 2
        || has_winner && cohort.trial.is_none()
    {
        return Ok(None);
    }
    let epochs = campaigns::ops::weight_epochs(app.db(), scope.workspace, &scope.campaign).await?;
    let weights = |at: usize| -> Vec<f64> {
        let weight = |variant: &campaigns::model::Variant| {
            epochs.get(at).and_then(|epoch| epoch.weights.get(&variant.id)).copied().unwrap_or(0.0)
        };
        variants.iter().map(weight).collect()
    };
    let is_first_time = counts.iter().all(|count| count.occurrence <= 1);
    if epochs.len() == 1 && is_first_time {
        let people = |number: u8| {
            let own = counts.iter().filter(|count| count.variant == number);
            own.map(|count| count.queued + count.control).sum::<u64>()
        };
        let counts: Vec<u64> = (1_u8..).take(variants.len()).map(people).collect();
        return Ok(ChiSquare::of_division(&counts, &weights(0)));
    }
    let starts: Vec<i64> = epochs.iter().map(|epoch| epoch.since.millis()).collect();
    let found = assignments(app.analytics(), cohort, &starts).await?;
    let divisions = (0..epochs.len()).map(|at| {
        let of_epoch = |epoch: u32| usize::try_from(epoch).unwrap_or(0).saturating_sub(1) == at;
        let people = |number: u8| {
            let own = found.iter().filter(|it| it.variant == number && of_epoch(it.epoch));
            own.map(|it| it.people).sum::<u64>()
        };
        let counts: Vec<u64> = (1_u8..).take(variants.len()).map(people).collect();
        (counts, weights(at))
    });
    let divisions: Vec<(Vec<u64>, Vec<f64>)> = divisions.collect();
    Ok(ChiSquare::of_divisions(
        divisions.iter().map(|(counts, weights)| (&counts[..], &weights[..])),
    ))
}

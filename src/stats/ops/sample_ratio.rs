//! Whether an audience was divided by the weights of the variants.

use analytics::messages::{Cohort, Count, assignments};
use campaigns::model::trial::Trial;
use kernel::Result;
use statistics::{
    sample_ratio::ChiSquare,
    sequential::division::{self, Division},
};
use web::Services;

use super::ReportScope;

/// Whether an audience was divided by the weights, if they apply.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SampleRatio {
    /// As the counts are now.
    pub test: Option<ChiSquare>,
    /// The p-value that holds at all looks together.
    pub sequential_p: Option<f64>,
}

/// People by variant who were assigned while these weights were in force.
struct Epoch {
    counts: Vec<u64>,
    weights: Vec<f64>,
}

impl SampleRatio {
    fn of(epochs: &[Epoch]) -> Self {
        let each = epochs.iter().map(|epoch| (&epoch.counts[..], &epoch.weights[..]));
        let all: Vec<Division<'_>> =
            each.clone().map(|(counts, weights)| Division { counts, weights }).collect();
        Self { test: ChiSquare::of_divisions(each), sequential_p: division::p_value(&all) }
    }
}

/// Whether people were divided by the weights that were in force when they were assigned first. Not tested once a winner
/// got the rest if the messages of the test are not known apart, nor if learning sets the shares.
pub(super) async fn sample_ratio(
    app: &Services,
    scope: &ReportScope,
    cohort: &Cohort<'_>,
    counts: &[Count],
) -> Result<SampleRatio> {
    let variants = &scope.campaign.definition.variants;
    let has_winner =
        Trial::of(&scope.campaign).is_some_and(|trial| trial.winner_variant_id.is_some());
    if scope.campaign.state.rl.is_some()
        || variants.len() < 2
        || has_winner && cohort.trial.is_none()
    {
        return Ok(SampleRatio::default());
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
        return Ok(SampleRatio::of(&[Epoch { counts, weights: weights(0) }]));
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
        Epoch { counts, weights: weights(at) }
    });
    Ok(SampleRatio::of(&divisions.collect::<Vec<_>>()))
}

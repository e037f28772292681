//! What the comparison of variants is shown beside: guardrails, the trend from sending to sending, and the same comparison
//! adjusted by the past.

use analytics::messages::Cohort;
use kernel::Result;
use web::Services;

use super::{
    ReportScope, adjusted,
    comparison_input::ComparisonInput,
    guardrails::{self, Guardrails},
    trend,
};
use crate::model::{adjusted::AdjustedComparison, trend::VariantTrend, warning::Warning};

/// What a comparison is shown beside.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    pub guardrails: Guardrails,
    /// By variant; none of the baseline, and without several sendings.
    pub trends: Vec<Option<VariantTrend>>,
    /// By variant; none of the baseline, and where nothing is known of before.
    pub adjusted: Vec<Option<AdjustedComparison>>,
    pub warnings: Vec<Warning>,
}

/// Computes what a comparison is shown beside.
pub(super) async fn beside(
    app: &Services,
    scope: &ReportScope,
    cohort: &Cohort<'_>,
    input: &ComparisonInput<'_>,
) -> Result<Beside> {
    let control = scope.control().map(|number| usize::from(number) - 1);
    let guardrails = guardrails::of_variants(app, cohort, input, control).await?;
    let trends = trend::of_variants(app, scope, cohort, input).await?;
    let fading: Vec<&str> = trends
        .iter()
        .zip(scope.variants())
        .filter(|(trend, _)| trend.as_ref().is_some_and(VariantTrend::fades))
        .map(|(_, id)| id.as_str())
        .collect();
    let fades = (!fading.is_empty()).then(|| Warning::EffectFades(fading.join(", ")));
    let adjusted = adjusted::of_variants(app, scope, cohort, input).await?;
    let is_unknown = adjusted.is_too_large.then_some(Warning::HistoryTooLarge);
    Ok(Beside {
        guardrails,
        trends,
        adjusted: adjusted.by_variant,
        warnings: fades.into_iter().chain(is_unknown).collect(),
    })
}

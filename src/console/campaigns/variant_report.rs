//! Variants of a report with their intervals, and the verdict in words.

use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;

use super::{
    frame,
    results::{Bounds, Warning, warnings},
};
use crate::{
    view::{self, Column, Effect},
    visitor::Visitor,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Comparison {
    metric: String,
    confidence_level: f64,
    baseline_variant_id: Option<String>,
    /// `intention_to_treat` where the metric is of people.
    analysis: Option<String>,
    phase: String,
    winner_variant_id: Option<String>,
    currency: Option<String>,
    verdict: Option<Verdict>,
    warnings: Vec<Warning>,
    sample_ratio_mismatch: SampleRatio,
    variants: Vec<VariantRow>,
}

#[derive(Deserialize)]
struct Verdict {
    at: Timestamp,
    decision: String,
}

#[derive(Deserialize)]
struct SampleRatio {
    detected: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VariantRow {
    variant_id: String,
    name: String,
    is_control_group: bool,
    recipients: u64,
    people: u64,
    delivered: u64,
    opened: u64,
    clicked: u64,
    conversions: u64,
    rate: f64,
    interval: Bounds,
    probability_to_be_best: Option<f64>,
    comparison: Option<Compared>,
    guardrails: Vec<Guardrail>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Compared {
    lift: Option<f64>,
    lift_interval: Option<Bounds>,
    p_value: Option<f64>,
    is_significant: bool,
    warnings: Vec<Warning>,
}

#[derive(Deserialize)]
struct Guardrail {
    metric: String,
    verdict: String,
}

/// The comparison of the variants; of a single one only its rate.
pub(super) fn all(found: &Comparison, visitor: &Visitor, sources: &Markup) -> Markup {
    if found.variants.is_empty() {
        return html! {};
    }
    let is_money = found.metric == "revenue_per_recipient";
    let currency = found.currency.as_deref().unwrap_or_default();
    let content = html! {
        @for line in verdicts(found, visitor) { p { strong { (line) } } }
        (warnings(&found.warnings))
        (rows(found, is_money, currency))
        @let rates: Vec<Effect> = found.variants.iter().filter(|it| it.recipients > 0).map(rate).collect();
        @if !is_money && !rates.is_empty() {
            h3 { (capital(&frame::words(&found.metric))) " with intervals of " (view::percent(found.confidence_level)) }
            @let none = baseline(found).map_or(0.0, |baseline| baseline.rate);
            (view::forest(&frame::words(&found.metric), none, &rates))
        }
        @let lifts: Vec<Effect> = found.variants.iter().filter_map(lift).collect();
        @if !lifts.is_empty() {
            h3 { "Relative to " bdi { (baseline(found).map_or("the baseline", |it| it.name.as_str())) } }
            (view::forest("Lifts with their intervals", 0.0, &lifts))
        }
        (harm(found))
        (sources)
    };
    view::card("Variants", &content)
}

fn baseline(found: &Comparison) -> Option<&VariantRow> {
    found.variants.iter().find(|it| Some(&it.variant_id) == found.baseline_variant_id.as_ref())
}

fn rate(of: &VariantRow) -> Effect {
    Effect {
        name: of.name.clone(),
        value: of.rate,
        lower: of.interval.lower,
        upper: of.interval.upper,
    }
}

fn lift(of: &VariantRow) -> Option<Effect> {
    let compared = of.comparison.as_ref()?;
    let (value, bounds) = compared.lift.zip(compared.lift_interval)?;
    Some(Effect { name: of.name.clone(), value, lower: bounds.lower, upper: bounds.upper })
}

/// The verdict in words, a sentence each.
fn verdicts(found: &Comparison, visitor: &Visitor) -> Vec<String> {
    let name = |id: &str| {
        let variant = found.variants.iter().find(|it| it.variant_id == id);
        variant.map_or(id, |it| it.name.as_str()).to_owned()
    };
    let metric = frame::words(&found.metric);
    let mut lines = Vec::new();
    match (&found.verdict, found.phase.as_str()) {
        (Some(verdict), _) => {
            let winner = found.winner_variant_id.as_deref().map(name).unwrap_or_default();
            let text = match verdict.decision.as_str() {
                "won" => format!("{winner} won the A/B test by {metric}"),
                "best_sent" => format!(
                    "No variant won significantly; {winner} was the best and went to the rest"
                ),
                "stopped" => "No variant won significantly; the rest got nothing".to_owned(),
                "selected" => format!("{winner} was selected by hand"),
                other => frame::words(other),
            };
            lines.push(format!("{text} ({}).", view::exact(verdict.at, visitor.zone())));
        }
        (None, "testing") => lines.push("The A/B test is running.".to_owned()),
        (None, _) => {}
    }
    let base = baseline(found).map(|it| it.name.clone()).unwrap_or_default();
    for variant in &found.variants {
        let Some(compared) = &variant.comparison else { continue };
        lines.extend(compared_in_words(variant, compared, &metric, &base));
    }
    if found.sample_ratio_mismatch.detected {
        let text = "The audience was not divided by the weights: do not trust the comparison.";
        lines.push(text.to_owned());
    }
    lines
}

fn compared_in_words(
    variant: &VariantRow,
    compared: &Compared,
    metric: &str,
    base: &str,
) -> Option<String> {
    let lift = compared.lift?;
    let way = if lift >= 0.0 { "higher" } else { "lower" };
    let by = view::percent(lift.abs());
    Some(if compared.is_significant {
        format!("{}: {metric} is {by} {way} than that of {base}, significantly.", variant.name)
    } else {
        format!("{}: no significant difference from {base} so far ({by} {way}).", variant.name)
    })
}

fn rows(found: &Comparison, is_money: bool, currency: &str) -> Markup {
    let metric = capital(&frame::words(&found.metric));
    let columns = [
        Column::text("Variant"),
        Column::number("Recipients"),
        Column::number("People"),
        Column::number("Delivered"),
        Column::number("Opened"),
        Column::number("Clicked"),
        Column::number("Converted"),
        Column::number(&metric),
        Column::number("p-value"),
        Column::number("Is best with"),
    ];
    let rate = |value: f64| {
        if is_money { format!("{} {currency}", view::decimal(value)) } else { view::percent(value) }
    };
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let row = |of: &VariantRow| {
        let p_value = of.comparison.as_ref().and_then(|it| it.p_value);
        vec![
            html! {
                bdi { (of.name) }
                @if of.is_control_group { " " span class="quiet" { "control" } }
            },
            html! { (view::count(of.recipients)) },
            html! { (view::count(of.people)) },
            html! { (view::count(of.delivered)) },
            html! { (view::count(of.opened)) },
            html! { (view::count(of.clicked)) },
            html! { (view::count(of.conversions)) },
            html! {
                @if of.recipients > 0 {
                    (rate(of.rate)) " (" (rate(of.interval.lower)) " to " (rate(of.interval.upper)) ")"
                } @else { "–" }
            },
            html! { (or_dash(p_value.map(|p| format!("{p:.4}")))) },
            html! { (or_dash(of.probability_to_be_best.map(view::percent))) },
        ]
    };
    let rows: Vec<Vec<Markup>> = found.variants.iter().map(row).collect();
    let notes = found.variants.iter().filter_map(|it| Some((it, it.comparison.as_ref()?)));
    html! {
        (view::table("Variants", &columns, &rows))
        p class="quiet" { (base(found, &metric)) }
        @for (variant, compared) in notes {
            @if !compared.warnings.is_empty() {
                p { bdi { (variant.name) } ":" }
                (warnings(&compared.warnings))
            }
        }
    }
}

/// What the metric is a share of.
fn base(found: &Comparison, metric: &str) -> String {
    if found.analysis.is_some() {
        format!(
            "{metric} is of all People of a variant: those it was assigned to, whether their message left or not. \
             While time to convert is left, people of the same age are compared."
        )
    } else {
        format!("{metric} is of the messages that were sent and did not bounce.")
    }
}

/// Guardrails: where a variant does more harm than the baseline.
fn harm(found: &Comparison) -> Markup {
    let all = || found.variants.iter().flat_map(|of| of.guardrails.iter().map(move |it| (of, it)));
    let rows: Vec<Vec<Markup>> = all()
        .map(|(of, guardrail)| {
            vec![
                html! { bdi { (of.name) } },
                html! { (frame::words(&guardrail.metric)) },
                html! { (guardrail.verdict) },
            ]
        })
        .collect();
    let columns = [Column::text("Variant"), Column::text("Harm"), Column::text("Verdict")];
    html! {
        @if !rows.is_empty() {
            details {
                summary { "Guardrails" }
                (view::table("Guardrails", &columns, &rows))
            }
        }
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

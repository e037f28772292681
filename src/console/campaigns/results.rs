//! The funnel of delivery, goals, revenue and uplift of a report.

use maud::{Markup, html};
use serde::Deserialize;

use super::{Whole, frame};
use crate::view::{self, Column, Effect, Tone};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    stats: Counts,
    conversion_stats: Option<Goals>,
    revenue: Option<Revenue>,
    uplift: Option<Uplift>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    queued: u64,
    sent: u64,
    delivered: u64,
    failed: u64,
    opened: u64,
    clicked: u64,
    bounced: u64,
    failed_or_bounced: u64,
    complained: u64,
    unsubscribed: u64,
    skipped: u64,
    cancelled: u64,
    control: u64,
    machine_opened: u64,
    machine_clicked: u64,
    total_opens: u64,
    total_clicks: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Goals {
    window_hours: u64,
    attribution_model: String,
    primary: Goal,
    secondary: Vec<Goal>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Goal {
    event_name: String,
    conversions: f64,
    unique_conversions: u64,
    conversion_rate: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Revenue {
    average_order_value: f64,
    #[serde(rename = "revenuePerRecipient")]
    per_recipient: f64,
    currency: Option<String>,
    by_currency: Vec<InCurrency>,
    by_variant: Vec<OfVariant>,
    warnings: Vec<Warning>,
}

#[derive(Deserialize)]
struct InCurrency {
    currency: String,
    total: f64,
    orders: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfVariant {
    variant_id: String,
    total: f64,
    orders: f64,
    revenue_per_recipient: f64,
}

/// A warning of a report, in the API's words.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Warning {
    message: String,
}

/// Both ends of an interval.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Bounds {
    pub(super) lower: f64,
    pub(super) upper: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Uplift {
    treatment: Side,
    control: Side,
    #[serde(rename = "absoluteUplift")]
    absolute: Option<f64>,
    #[serde(rename = "relativeUplift")]
    relative: Option<f64>,
    confidence_interval: Option<Bounds>,
    p_value: Option<f64>,
    is_significant: bool,
    incremental_conversions: Option<Incremental>,
    incremental_revenue: Option<Incremental>,
    warnings: Vec<Warning>,
}

#[derive(Deserialize)]
struct Side {
    size: u64,
    conversions: u64,
    rate: f64,
    revenue: f64,
}

#[derive(Deserialize)]
struct Incremental {
    value: f64,
    lower: f64,
    upper: f64,
}

/// The whole of `stats`.
pub(super) fn all(report: &Report, whole: &Whole, sources: &Markup) -> Markup {
    html! {
        (view::card("Delivery", &html! { (delivery(&report.stats)) (sources) }))
        @if let Some(goals) = &report.conversion_stats { (view::card("Goals", &of_goals(goals))) }
        @if let Some(revenue) = &report.revenue { (view::card("Revenue", &of_revenue(revenue, whole))) }
        @if let Some(uplift) = &report.uplift { (view::card("Uplift over the control group", &of_uplift(uplift))) }
    }
}

/// Warnings of a report as a list.
pub(super) fn warnings(warnings: &[Warning]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            ul { @for warning in warnings { li { (warning.message) } } }
        }
    }
}

fn number(number: u64) -> Markup {
    html! { (view::count(number)) }
}

/// A count, as a share of those that it can be one of.
fn row(name: &str, count: u64, sent: Option<u64>, tried: Option<u64>) -> Vec<Markup> {
    let share = |whole: Option<u64>| {
        let share = whole.map_or_else(|| "–".to_owned(), |whole| frame::share(count, whole));
        html! { (share) }
    };
    vec![html! { (name) }, number(count), share(sent), share(tried)]
}

fn delivery(counts: &Counts) -> Markup {
    let columns = [
        Column::text("Messages"),
        Column::number("Number"),
        Column::number("of sent"),
        Column::number("of tried"),
    ];
    let of_sent = [
        ("Sent", counts.sent),
        ("Delivered", counts.delivered),
        ("Opened", counts.opened),
        ("Clicked", counts.clicked),
        ("Complained", counts.complained),
        ("Unsubscribed", counts.unsubscribed),
    ];
    // What is refused at once has failed and bounced, and was never sent.
    let tried = counts.sent + counts.failed;
    let of_tried = [
        ("Tried", tried),
        ("Failed", counts.failed),
        ("Bounced", counts.bounced),
        ("Failed or bounced", counts.failed_or_bounced),
    ];
    let others = [
        ("Made for people", counts.queued),
        ("Skipped", counts.skipped),
        ("Cancelled", counts.cancelled),
        ("In the control group, beside them", counts.control),
    ];
    let rows: Vec<Vec<Markup>> = of_sent
        .into_iter()
        .map(|(name, count)| row(name, count, Some(counts.sent), None))
        .chain(of_tried.into_iter().map(|(name, count)| row(name, count, None, Some(tried))))
        .chain(others.into_iter().map(|(name, count)| row(name, count, None, None)))
        .collect();
    let steps = [
        ("Sent", counts.sent),
        ("Delivered", counts.delivered),
        ("Opened", counts.opened),
        ("Clicked", counts.clicked),
    ];
    html! {
        div class="figures" {
            @for (name, count) in steps {
                (view::figure(&format!("{name}, {}", frame::share(count, counts.sent)), &number(count), None, Tone::Neutral))
            }
        }
        (view::table("Delivery", &columns, &rows))
        p class="quiet" {
            "Tried are those that were sent and those that failed. A message that is refused at once has failed and bounced."
        }
        p class="quiet" {
            "Repeated ones included: " (view::count(counts.total_opens)) " openings, " (view::count(counts.total_clicks))
            " clicks. By programs such as mail proxies, and not among those above: "
            (view::count(counts.machine_opened)) " openings, " (view::count(counts.machine_clicked)) " clicks."
        }
    }
}

fn of_goals(goals: &Goals) -> Markup {
    let columns = [
        Column::text("Event"),
        Column::number("People"),
        Column::number("of those sent to"),
        Column::number("Events"),
    ];
    let row = |goal: &Goal| {
        vec![
            html! { bdi { (goal.event_name) } },
            number(goal.unique_conversions),
            html! { (view::percent(goal.conversion_rate)) },
            html! { (view::decimal(goal.conversions)) },
        ]
    };
    let rows: Vec<Vec<Markup>> =
        std::iter::once(&goals.primary).chain(&goals.secondary).map(row).collect();
    html! {
        (view::table("Goals", &columns, &rows))
        p class="quiet" {
            "Within " (goals.window_hours) " hours of a message, credited by " (frame::words(&goals.attribution_model)) "."
        }
    }
}

fn of_revenue(revenue: &Revenue, whole: &Whole) -> Markup {
    let currency = revenue.currency.as_deref().unwrap_or_default();
    let money = |amount: f64, currency: &str| html! { (view::decimal(amount)) " " (currency) };
    let columns = [Column::text("Currency"), Column::number("Revenue"), Column::number("Orders")];
    let rows: Vec<Vec<Markup>> = revenue
        .by_currency
        .iter()
        .map(|it| {
            let orders = html! { (view::decimal(it.orders)) };
            vec![html! { (it.currency) }, money(it.total, &it.currency), orders]
        })
        .collect();
    let by_variant: Vec<Vec<Markup>> = revenue
        .by_variant
        .iter()
        .map(|it| {
            vec![
                html! { bdi { (whole.variant_name(&it.variant_id)) } },
                money(it.total, currency),
                html! { (view::decimal(it.orders)) },
                money(it.revenue_per_recipient, currency),
            ]
        })
        .collect();
    let of_variants = [
        Column::text("Variant"),
        Column::number("Revenue"),
        Column::number("Orders"),
        Column::number("For each person"),
    ];
    html! {
        (warnings(&revenue.warnings))
        @if rows.is_empty() {
            p class="quiet" { "No order yet." }
        } @else {
            (view::table("Revenue", &columns, &rows))
            (view::facts([
                ("For each order", money(revenue.average_order_value, currency)),
                ("For each person sent to", money(revenue.per_recipient, currency)),
            ]))
            @if by_variant.len() > 1 {
                h3 { "By variant, in " (currency) }
                (view::table("Revenue by variant", &of_variants, &by_variant))
            }
        }
    }
}

fn of_uplift(uplift: &Uplift) -> Markup {
    let columns = [
        Column::text("Side"),
        Column::number("People"),
        Column::number("Converted"),
        Column::number("Rate"),
        Column::number("Revenue"),
    ];
    let row = |name: &str, side: &Side| {
        vec![
            html! { (name) },
            number(side.size),
            number(side.conversions),
            html! { (view::percent(side.rate)) },
            html! { (view::decimal(side.revenue)) },
        ]
    };
    let rows = [row("Campaign", &uplift.treatment), row("Control group", &uplift.control)];
    let verdict = match (uplift.absolute, uplift.is_significant) {
        (None, _) => "There is nothing to compare yet.",
        (Some(difference), true) if difference > 0.0 => {
            "The campaign works: the difference is significant."
        }
        (Some(_), true) => "The campaign does harm: the difference is significant.",
        (Some(_), false) => "No significant difference so far.",
    };
    let incremental = |found: &Option<Incremental>| {
        html! {
            @match found {
                Some(found) => {
                    (view::decimal(found.value)) " (" (view::decimal(found.lower)) " to " (view::decimal(found.upper)) ")"
                },
                None => "–",
            }
        }
    };
    let percent =
        |value: Option<f64>| html! { (value.map_or_else(|| "–".to_owned(), view::percent)) };
    let effect = uplift.absolute.zip(uplift.confidence_interval).map(|(value, bounds)| Effect {
        name: "Difference of rates".to_owned(),
        value,
        lower: bounds.lower,
        upper: bounds.upper,
    });
    html! {
        p { strong { (verdict) } }
        (view::table("Uplift", &columns, &rows))
        @if let Some(effect) = effect { (view::forest("Difference of rates, with its 95 % interval", 0.0, &[effect])) }
        (view::facts([
            ("Relative uplift", percent(uplift.relative)),
            ("p-value", html! { (uplift.p_value.map_or_else(|| "–".to_owned(), |p| format!("{p:.4}"))) }),
            ("More conversions", incremental(&uplift.incremental_conversions)),
            ("More revenue", incremental(&uplift.incremental_revenue)),
        ]))
        (warnings(&uplift.warnings))
    }
}

//! What a learning campaign has learnt: the shares of its variants and how good each may be.

use std::collections::BTreeMap;

use http::Method;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use super::{
    Whole, frame,
    results::{Bounds, Warning, warnings},
};
use crate::{
    view::{self, Chart, Column, Effect, Series, Sources, Unit},
    visitor::Visitor,
};

/// The answer of `rl-stats`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Learnt {
    status: String,
    started_at: Timestamp,
    last_updated_at: Timestamp,
    total_sends: u64,
    total_rewards: u64,
    reward_is: String,
    reward_rate: f64,
    rates_within_seconds: Option<u32>,
    arms: Vec<Arm>,
    value_remaining: f64,
    estimated_lift_vs_uniform: f64,
    timeline: Vec<Shares>,
    warnings: Vec<Warning>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arm {
    variant_id: String,
    name: String,
    sends: u64,
    rewards: u64,
    mature_sends: f64,
    pending_sends: f64,
    reward_rate: f64,
    interval: Bounds,
    probability_to_be_best: f64,
    allocation: f64,
}

/// The observations of the variants, as `ml-path-warmth` answers them: of an id in all campaigns of the workspace.
#[derive(Default, Deserialize)]
pub(super) struct Warmth {
    items: Vec<Observed>,
}

#[derive(Deserialize)]
struct Observed {
    id: String,
    observations: u64,
    required: u64,
}

impl Warmth {
    /// None where they cannot be read: the report shows the rest without them.
    pub(super) async fn of(visitor: &Visitor, whole: &Whole) -> Self {
        let ids: Vec<String> = whole.variants().into_iter().map(|variant| variant.id).collect();
        let call = visitor.call(Method::POST, "/campaigns/ml-path-warmth");
        let Ok(call) = call.json(&json!({"variantIds": ids})) else { return Self::default() };
        call.changes_nothing().read().await.unwrap_or_default()
    }

    fn of_variant(&self, id: &str) -> String {
        let found = self.items.iter().find(|it| it.id == id);
        found.map_or_else(
            || "–".to_owned(),
            |it| format!("{} of {}", view::count(it.observations), view::count(it.required)),
        )
    }
}

#[derive(Deserialize)]
struct Shares {
    at: Timestamp,
    allocations: BTreeMap<String, f64>,
}

/// The state of the learning, its variants, and their shares over time.
pub(super) fn card(
    learnt: &Learnt,
    warmth: &Warmth,
    visitor: &Visitor,
    whole: &Whole,
    sources: &Markup,
) -> Markup {
    let content = html! {
        p { strong { (in_words(&learnt.status)) } }
        (warnings(&learnt.warnings))
        (facts(learnt, visitor))
        (arms(&learnt.arms, warmth))
        @let rates: Vec<Effect> = learnt.arms.iter().filter(|arm| arm.mature_sends > 0.0).map(rate).collect();
        @if !rates.is_empty() {
            h3 { "Rewards a message, with intervals of 95 %" }
            (view::forest("Rewards a message", learnt.reward_rate, &rates))
        }
        @if learnt.timeline.len() > 1 {
            h3 { "Shares of the messages" }
            (view::chart(&shares(learnt, visitor, whole), &Sources::default()))
        }
        (sources)
    };
    view::card("Learning", &content)
}

fn in_words(status: &str) -> &str {
    match status {
        "learning" => "Every variant is still being tried.",
        "optimizing" => "Better variants get more of the messages.",
        "converged" => "No relevant improvement remains: the best variant gets the messages.",
        "paused" => "The campaign is paused; what was learnt is kept.",
        other => other,
    }
}

fn facts(learnt: &Learnt, visitor: &Visitor) -> Markup {
    let ago = |at| view::ago(at, visitor.now(), visitor.zone());
    let within = learnt.rates_within_seconds.map(|seconds| view::duration(f64::from(seconds)));
    html! {
        (view::facts([
            ("A reward is", html! { (frame::words(&learnt.reward_is)) }),
            ("Messages", html! { (view::count(learnt.total_sends)) }),
            ("With a reward", html! {
                (view::count(learnt.total_rewards)) " (" (frame::share(learnt.total_rewards, learnt.total_sends)) ")"
            }),
            ("More than with equal shares", html! { (view::percent(learnt.estimated_lift_vs_uniform)) }),
            ("Still to be gained at most", html! { (view::percent(learnt.value_remaining)) }),
            ("Began", ago(learnt.started_at)),
            ("Learnt last", ago(learnt.last_updated_at)),
        ]))
        @if let Some(within) = within {
            p class="quiet" { "Rates count rewards within " (within) " of a message: later ones cannot be known yet." }
        }
    }
}

fn rate(arm: &Arm) -> Effect {
    let Bounds { lower, upper } = arm.interval;
    Effect { name: arm.name.clone(), value: arm.reward_rate, lower, upper }
}

fn arms(arms: &[Arm], warmth: &Warmth) -> Markup {
    let columns = [
        Column::text("Variant"),
        Column::number("Share now"),
        Column::number("Messages"),
        Column::number("Rewards"),
        Column::number("Rate"),
        Column::number("Count as tried"),
        Column::number("Still open"),
        Column::number("Observed in all campaigns"),
        Column::number("Is best with"),
    ];
    // Before a message counts as tried, all of them are alike.
    let is_tried = arms.iter().all(|arm| arm.mature_sends > 0.0);
    let row = |arm: &Arm| {
        vec![
            html! { bdi { (arm.name) } },
            html! { (view::percent(arm.allocation)) },
            html! { (view::count(arm.sends)) },
            html! { (view::count(arm.rewards)) },
            html! { (frame::share(arm.rewards, arm.sends)) },
            html! { (view::decimal(arm.mature_sends)) },
            html! { (view::decimal(arm.pending_sends)) },
            html! { (warmth.of_variant(&arm.variant_id)) },
            html! { @if is_tried { (view::percent(arm.probability_to_be_best)) } @else { "–" } },
        ]
    };
    let rows: Vec<Vec<Markup>> = arms.iter().map(row).collect();
    view::table("Variants that are learnt about", &columns, &rows)
}

/// The shares as a chart, a line for each variant.
fn shares(learnt: &Learnt, visitor: &Visitor, whole: &Whole) -> Chart {
    let zone = visitor.zone();
    let series = |arm: &Arm| Series {
        label: format!("{}, in %", whole.variant_name(&arm.variant_id)),
        values: learnt
            .timeline
            .iter()
            .map(|it| it.allocations.get(&arm.variant_id).map(|share| share * 100.0))
            .collect(),
        is_compared: false,
    };
    Chart {
        title: "Shares of the messages by variant".to_owned(),
        unit: Unit::Number,
        times: learnt.timeline.iter().map(|it| it.at.millis() / 1_000).collect(),
        labels: learnt.timeline.iter().map(|it| view::exact(it.at, zone)).collect(),
        series: learnt.arms.iter().map(series).collect(),
    }
}

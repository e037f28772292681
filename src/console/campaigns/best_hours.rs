//! For how many people of an audience the best hour is known, and which it is.

use maud::{Markup, html};
use serde::Deserialize;

use super::{Campaign, frame};
use crate::{
    failure::PageResult,
    in_process::path,
    view::{self, Column},
    visitor::Visitor,
};

/// The answer of `sto-coverage`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Coverage {
    total_users: u64,
    optimized_users: u64,
    fallback_users: u64,
    min_events: u32,
    lookback_days: u32,
    hours: Vec<Hour>,
    popular_hour: Option<u8>,
}

#[derive(Deserialize)]
struct Hour {
    hour: u8,
    users: u64,
}

/// The people by their best hour.
pub(super) async fn card(visitor: &Visitor, campaign: &Campaign) -> Markup {
    let call = visitor.get(path(["campaigns", &campaign.id, "sto-coverage"]));
    let found: PageResult<Coverage> = call.read().await;
    match &found {
        Ok(coverage) => view::card("Best hours", &content(coverage)),
        Err(failure) if failure.is_of_fields() => {
            view::card("Best hours", &frame::refusal(failure))
        }
        Err(failure) => failure.card("Best hours"),
    }
}

fn content(coverage: &Coverage) -> Markup {
    let row = |of: &Hour| {
        vec![
            html! { (format!("{:02}:00", of.hour)) },
            html! { (view::count(of.users)) },
            html! { (frame::share(of.users, coverage.total_users)) },
        ]
    };
    let known = coverage.hours.iter().filter(|of| of.users > 0);
    let rows: Vec<Vec<Markup>> = known.map(row).collect();
    let columns = [
        Column::text("Hour by their clock"),
        Column::number("People"),
        Column::number("of the audience"),
    ];
    html! {
        p {
            "The best hour of " strong { (view::count(coverage.optimized_users)) } " of "
            (view::count(coverage.total_users)) " people is known, from "
            (coverage.min_events) " visits in " (coverage.lookback_days) " days. "
            (view::count(coverage.fallback_users)) " others get the message at the time of the fallback."
        }
        @if let Some(hour) = coverage.popular_hour {
            p { "Most visits begin at " (format!("{hour:02}:00")) "." }
        }
        @if !rows.is_empty() { (view::table("People by their best hour", &columns, &rows)) }
    }
}

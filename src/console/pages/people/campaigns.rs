//! Why a person did or did not get a campaign: the campaigns, each with the answer of its report.

use maud::{Markup, html};
use serde::Deserialize;
use web::auth::ScopeName;

use super::Profile;
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    view::{self, Column, Field, Kind, Tone},
    visitor::Visitor,
};

/// Campaigns that are listed; further ones are searched for.
const LIMIT: &str = "20";

#[derive(Deserialize)]
struct Campaigns {
    data: Vec<Campaign>,
    pagination: Pagination,
}

#[derive(Deserialize)]
struct Pagination {
    total: u64,
}

#[derive(Deserialize)]
struct Campaign {
    id: String,
    name: String,
    channel: String,
    status: String,
}

/// The campaigns with a part of their name, the newest first.
pub(super) async fn tab(visitor: &Visitor, profile: &Profile, q: &str) -> Markup {
    if !visitor.may(ScopeName::CampaignsRead) {
        return Failure::missing_scope(ScopeName::CampaignsRead.as_str()).card("Campaigns");
    }
    let call = visitor.get("/campaigns").query_if("q", Some(q.trim())).query("limit", LIMIT);
    let campaigns: PageResult<Campaigns> = call.read().await;
    html! {
        p { "What became of the messages of a campaign to this person, and why there is none." }
        form class="filters" method="get" action=(profile.path()) autocomplete="off" role="search" {
            (view::hidden("tab", "campaigns"))
            (view::field(&Field::text("q", "Campaign", q).of(Kind::Search)
                .hint("A part of the name, the description or a tag")))
            button class="button" type="submit" { "Search" }
        }
        @match &campaigns {
            Ok(campaigns) => (listed(profile, campaigns)),
            Err(failure) => (failure.card("Campaigns")),
        }
    }
}

fn listed(profile: &Profile, campaigns: &Campaigns) -> Markup {
    if campaigns.data.is_empty() {
        return html! { p class="quiet" { "No campaign matches." } };
    }
    let columns = [
        Column::text("Campaign"),
        Column::text("State"),
        Column::text("Channel"),
        Column::text("Answer"),
    ];
    let row = |campaign: &Campaign| {
        let person: String = url::form_urlencoded::byte_serialize(profile.id.as_bytes()).collect();
        let report = path(["console", "campaigns", &campaign.id, "report"]);
        vec![
            html! { bdi { (campaign.name) } },
            view::badge(Tone::Neutral, &campaign.status),
            html! { (view::channel_label(&campaign.channel)) },
            html! {
                a href={ (report) "?person=" (person) } {
                    "Did it reach this person?" span class="unseen" { " " (campaign.name) }
                }
            },
        ]
    };
    let rows: Vec<Vec<Markup>> = campaigns.data.iter().map(row).collect();
    let shown = campaigns.data.len() as u64;
    html! {
        (view::table("Campaigns", &columns, &rows))
        @if shown < campaigns.pagination.total {
            p class="quiet" { (view::count(shown)) " of " (view::count(campaigns.pagination.total)) ": search for others" }
        }
    }
}

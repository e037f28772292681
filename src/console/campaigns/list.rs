//! The list of campaigns, with filters in the address. Rates come after the list, from the reports.

use std::time::Duration;

use axum::response::Response;
use futures_util::future;
use maud::{Markup, html};
use serde::Deserialize;
use url::form_urlencoded;
use web::auth::ScopeName;

use super::{Campaign, ENTRY, NEW, frame};
use crate::{
    failure::{Failure, PageResult},
    in_process::path,
    query::Query,
    view::{self, Choice, Column, Field, Kind, Tone},
    visitor::Visitor,
};

/// Campaigns of one page.
const PAGE: &str = "20";
/// Reports that are asked for at the same time.
const REPORTS_AT_ONCE: usize = 4;
/// Longest wait for a report of a row.
const REPORT_MAX: Duration = Duration::from_secs(10);

/// Statuses that can be filtered by, with their labels.
const STATUSES: [(&str, &str); 9] = [
    ("", "Any"),
    ("draft", "Draft"),
    ("scheduled", "Scheduled"),
    ("active", "Active"),
    ("paused", "Paused"),
    ("completed", "Completed"),
    ("failed", "Failed"),
    ("cancelled", "Cancelled"),
    ("archived", "Archived"),
];
const CHANNELS: [&str; 8] =
    ["email", "sms", "push", "whatsapp", "viber", "in_app", "webhook", "ai_optimized"];

/// What the address of the list names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    q: String,
    status: String,
    channel: String,
    page: u64,
    /// `on` where the reports of the rows are asked for, too.
    rates: String,
}

impl Asked {
    fn page(&self) -> u64 {
        self.page.max(1)
    }

    fn is_filtered(&self) -> bool {
        !(self.q.trim().is_empty() && self.status.is_empty() && self.channel.is_empty())
    }

    fn address(&self, page: u64, has_rates: bool) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("q", &self.q), ("status", &self.status), ("channel", &self.channel)]
        {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        if page > 1 {
            query.append_pair("page", &page.to_string());
        }
        if has_rates {
            query.append_pair("rates", "on");
        }
        format!("{}?{}", ENTRY.path, query.finish())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    total: u64,
    has_more: bool,
}

#[derive(Deserialize)]
struct Campaigns {
    data: Vec<Campaign>,
    pagination: Pagination,
}

/// The counts of a report that the list shows.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    sent: u64,
    delivered: u64,
    failed: u64,
    failed_or_bounced: u64,
    opened: u64,
    clicked: u64,
}

#[derive(Deserialize)]
struct Report {
    stats: Counts,
}

/// What is known of the results of a row.
enum Rates {
    /// It has never been live.
    NotSent,
    /// They are not asked for yet.
    Later,
    Known(Counts),
    Failed(Failure),
}

pub(super) async fn show(visitor: Visitor, Query(asked): Query<Asked>) -> Response {
    let call = visitor
        .get("/campaigns")
        .query_if("q", Some(asked.q.trim()))
        .query_if("status", Some(&asked.status))
        .query_if("channel", Some(&asked.channel))
        .query("limit", PAGE)
        .query("page", asked.page().to_string());
    let campaigns: PageResult<Campaigns> = call.read().await;
    let content = html! {
        div class="head" {
            h1 { "Campaigns" }
            @if visitor.may(ScopeName::CampaignsWrite) { (view::button_link(NEW, "New campaign")) }
        }
        (filters(&asked))
        @match campaigns {
            Ok(campaigns) => (found(&visitor, &asked, campaigns).await),
            Err(failure) => (view::alert(&failure.text())),
        }
    };
    visitor.page(&ENTRY, ENTRY.name, &content)
}

fn filters(asked: &Asked) -> Markup {
    let statuses = STATUSES.map(|(value, label)| Choice { value, label });
    let labels = CHANNELS.map(view::channel_label);
    let mut channels = vec![Choice { value: "", label: "Any" }];
    channels.extend(CHANNELS.into_iter().zip(labels).map(|(value, label)| Choice { value, label }));
    html! {
        form class="filters" method="get" action=(ENTRY.path) autocomplete="off" role="search" {
            (view::field(&Field::text("q", "Search", &asked.q).of(Kind::Search)
                .hint("A part of the name, the description or a tag")))
            (view::select("status", "State", &asked.status, &statuses))
            (view::select("channel", "Channel", &asked.channel, &channels))
            button class="button primary" type="submit" { "Search" }
        }
    }
}

async fn found(visitor: &Visitor, asked: &Asked, campaigns: Campaigns) -> Markup {
    let Campaigns { data, pagination } = campaigns;
    if data.is_empty() {
        return none_found(visitor, asked);
    }
    let has_rates = asked.rates == "on";
    let rates = all_rates(visitor, &data, has_rates).await;
    let columns = [
        Column::text("Campaign"),
        Column::text("State"),
        Column::text("Channel"),
        Column::text("Sent how"),
        Column::number("Sent"),
        Column::number("Delivered"),
        Column::number("Opened"),
        Column::number("Clicked"),
        Column::number("Failed"),
        Column::text("Changed"),
    ];
    let rows: Vec<Vec<Markup>> =
        data.iter().zip(&rates).map(|(campaign, rates)| row(visitor, campaign, rates)).collect();
    let problem = rates.iter().find_map(|rates| match rates {
        Rates::Failed(failure) => Some(failure.text()),
        Rates::NotSent | Rates::Later | Rates::Known(_) => None,
    });
    let page = asked.page();
    let before = (page > 1).then(|| asked.address(page - 1, false));
    let after = pagination.has_more.then(|| asked.address(page + 1, false));
    let later = (!has_rates).then(|| asked.address(page, true));
    html! {
        p class="quiet" { (view::count(pagination.total)) " campaigns" }
        div id="campaign-list" hx-get=[later.as_deref()] hx-trigger=[later.as_ref().map(|_| "load")]
            hx-select="#campaign-list" hx-swap="outerHTML" {
            @if let Some(problem) = problem { p class="quiet" { (problem) ": rates are left out." } }
            (view::table("Campaigns", &columns, &rows))
            @if let Some(later) = &later { noscript { p { a href=(later) { "Show rates" } } } }
        }
        (view::pager(before.as_deref(), after.as_deref()))
    }
}

/// The rates of the rows. When one report fails, no more of them are asked for.
async fn all_rates(visitor: &Visitor, data: &[Campaign], has_rates: bool) -> Vec<Rates> {
    let mut rates = Vec::with_capacity(data.len());
    let mut failed = None;
    for some in data.chunks(REPORTS_AT_ONCE) {
        if let Some(failure) = &failed {
            rates.extend(some.iter().map(|_| Rates::Failed(Failure::clone(failure))));
            continue;
        }
        let asked = some.iter().map(|campaign| rates_of(visitor, campaign, has_rates));
        rates.extend(future::join_all(asked).await);
        failed = rates.iter().find_map(|it| match it {
            Rates::Failed(failure) => Some(failure.clone()),
            Rates::NotSent | Rates::Later | Rates::Known(_) => None,
        });
    }
    rates
}

async fn rates_of(visitor: &Visitor, campaign: &Campaign, has_rates: bool) -> Rates {
    if campaign.started_at.is_none() {
        return Rates::NotSent;
    }
    if !has_rates {
        return Rates::Later;
    }
    let call = visitor.get(path(["campaigns", &campaign.id, "stats"])).within(REPORT_MAX);
    match call.read::<Report>().await {
        Ok(report) => Rates::Known(report.stats),
        Err(failure) => Rates::Failed(failure),
    }
}

fn row(visitor: &Visitor, campaign: &Campaign, rates: &Rates) -> Vec<Markup> {
    let mut cells = vec![
        html! { a href=(campaign.path()) { bdi { (campaign.name) } } },
        html! {
            (frame::status_badge(&campaign.status))
            @if campaign.has_pending_draft { " " span class="quiet" { "edits pending" } }
        },
        html! { (view::channel_label(&campaign.channel)) },
        html! { (frame::send_type_label(&campaign.send_type)) },
    ];
    cells.extend(match rates {
        Rates::NotSent => ["–"; 5].map(|text| html! { (text) }),
        Rates::Later => ["…"; 5].map(|text| html! { (text) }),
        Rates::Failed(_) => ["–"; 5].map(|text| html! { (text) }),
        Rates::Known(counts) => {
            let share = |part| html! { (frame::share(part, counts.sent)) };
            [
                html! { a href=(campaign.path_of("report")) { (view::count(counts.sent)) } },
                share(counts.delivered),
                share(counts.opened),
                share(counts.clicked),
                failed(counts),
            ]
        }
    });
    cells.push(view::ago(campaign.updated_at, visitor.now(), visitor.zone()));
    cells
}

/// Messages that failed or bounced, each once, of those that were tried.
fn failed(counts: &Counts) -> Markup {
    let failed = counts.failed_or_bounced;
    let share = frame::share(failed, counts.sent + counts.failed);
    html! {
        @if failed > 0 { (view::badge(Tone::Bad, &share)) } @else { (share) }
    }
}

fn none_found(visitor: &Visitor, asked: &Asked) -> Markup {
    if asked.is_filtered() || asked.page() > 1 {
        return view::empty(
            "No campaign matches",
            &html! { p { a href=(ENTRY.path) { "Show all campaigns" } } },
        );
    }
    let command = format!(
        "curl -s {}/campaigns -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' \\\n  \
         -d '{{\"name\":\"March\",\"channel\":\"email\",\"variants\":[{{\"id\":\"a\",\"name\":\"A\",\"weight\":100,\
         \"message\":{{\"subject\":\"Hello\",\"html\":\"<p>Hello</p> {{{{ unsubscribe_url }}}}\"}}}}]}}'",
        visitor.server_url()
    );
    view::empty(
        "No campaigns yet",
        &html! {
            p {
                "A campaign is a message to an audience: once, at a time, again and again, or at an event. "
                @if visitor.may(ScopeName::CampaignsWrite) { a href=(NEW) { "Make the first one" } ", or by the API:" }
            }
            (view::copyable(&command))
        },
    )
}

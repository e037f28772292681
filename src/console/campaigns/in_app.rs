//! Displays of an in-app message: how often, where, and what people did with it.

use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;

use super::{Campaign, Whole};
use crate::{
    failure::PageResult,
    in_process::path,
    view::{self, Column, Tone},
    visitor::Visitor,
};

/// The answer of `in-app-stats`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Displays {
    impressions: u64,
    unique_users: u64,
    clicks: u64,
    unique_clicks: u64,
    dismissals: u64,
    click_rate: f64,
    by_button: Vec<OfButton>,
    by_platform: Vec<OfPlatform>,
    display_frequency: Frequency,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfButton {
    button_id: String,
    text: Option<String>,
    clicks: u64,
}

#[derive(Deserialize)]
struct OfPlatform {
    platform: String,
    impressions: u64,
    clicks: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frequency {
    tail_bucket: u64,
    buckets: Vec<Bucket>,
    max_per_user: u64,
}

#[derive(Deserialize)]
struct Bucket {
    displays: u64,
    users: u64,
    impressions: u64,
}

/// What apps have reported of the message.
pub(super) fn card(found: &Displays, sources: &Markup) -> Markup {
    if found.impressions == 0 && found.clicks == 0 {
        return view::card(
            "Displays",
            &view::empty(
                "No app has displayed it yet",
                &html! {
                    p {
                        "Once the campaign is live, apps ask for it with "
                        code { "GET /v1/in-app/messages" } " and report each display and click."
                    }
                },
            ),
        );
    }
    let figure = |label: &str, number: u64| {
        view::figure(label, &html! { (view::count(number)) }, None, Tone::Neutral)
    };
    let content = html! {
        div class="figures" {
            (figure("Displays", found.impressions))
            (figure("People who saw it", found.unique_users))
            (figure(&format!("People who clicked, {}", view::percent(found.click_rate)), found.unique_clicks))
            (figure("Clicks", found.clicks))
            (figure("Dismissed", found.dismissals))
        }
        (buttons(&found.by_button))
        (platforms(&found.by_platform))
        (frequency(&found.display_frequency))
        (sources)
    };
    view::card("Displays", &content)
}

fn number(number: u64) -> Markup {
    html! { (view::count(number)) }
}

fn buttons(buttons: &[OfButton]) -> Markup {
    let row = |button: &OfButton| {
        let text = button.text.as_deref().unwrap_or("No longer in the message");
        vec![html! { bdi { (text) } }, html! { code { (button.button_id) } }, number(button.clicks)]
    };
    let rows: Vec<Vec<Markup>> = buttons.iter().map(row).collect();
    let columns = [Column::text("Button"), Column::text("Id"), Column::number("Clicks")];
    html! { @if !rows.is_empty() { (view::table("Clicks by button", &columns, &rows)) } }
}

fn platforms(platforms: &[OfPlatform]) -> Markup {
    let row =
        |it: &OfPlatform| vec![html! { (it.platform) }, number(it.impressions), number(it.clicks)];
    let rows: Vec<Vec<Markup>> = platforms.iter().map(row).collect();
    let columns = [Column::text("Platform"), Column::number("Displays"), Column::number("Clicks")];
    html! { @if !rows.is_empty() { (view::table("Displays by platform", &columns, &rows)) } }
}

fn frequency(found: &Frequency) -> Markup {
    let row = |it: &Bucket| {
        let more = if it.displays == found.tail_bucket { " and more" } else { "" };
        let times = format!("{}{more}", it.displays);
        vec![html! { (times) }, number(it.users), number(it.impressions)]
    };
    let rows: Vec<Vec<Markup>> = found.buckets.iter().map(row).collect();
    let columns =
        [Column::text("Seen so often"), Column::number("People"), Column::number("Displays")];
    html! {
        @if !rows.is_empty() {
            (view::table("How often people saw it", &columns, &rows))
            p class="quiet" { "The most for one person: " (view::count(found.max_per_user)) "." }
        }
    }
}

#[derive(Deserialize)]
struct Page {
    data: Vec<Display>,
    total: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Display {
    user_id: String,
    external_id: Option<String>,
    variant_id: String,
    platform: String,
    action: Option<String>,
    button_id: Option<String>,
    displayed_at: Timestamp,
}

/// A page of displays, newest first.
pub(super) async fn list(visitor: &Visitor, whole: &Whole, limit: u64, offset: u64) -> Markup {
    let Campaign { id, .. } = &whole.campaign;
    let call = visitor
        .get(path(["campaigns", id, "impressions"]))
        .query("limit", limit.to_string())
        .query("offset", offset.to_string());
    let page: PageResult<Page> = call.read().await;
    let page = match page {
        Ok(page) => page,
        Err(failure) => return failure.card("Displays"),
    };
    let columns = [
        Column::text("Person"),
        Column::text("Variant"),
        Column::text("Platform"),
        Column::text("What they did"),
        Column::text("Displayed"),
    ];
    let row = |it: &Display| {
        let name = it.external_id.as_deref().unwrap_or(&it.user_id);
        vec![
            html! { a href=(path(["console", "people", &it.user_id])) { bdi { (name) } } },
            html! { bdi { (whole.variant_name(&it.variant_id)) } },
            html! { (it.platform) },
            html! {
                (it.action.as_deref().unwrap_or("–"))
                @if let Some(button) = &it.button_id { " " code { (button) } }
            },
            view::ago(it.displayed_at, visitor.now(), visitor.zone()),
        ]
    };
    let rows: Vec<Vec<Markup>> = page.data.iter().map(row).collect();
    let address = |offset: u64| format!("{}?offset={offset}", whole.campaign.path_of("recipients"));
    let before = (offset > 0).then(|| address(offset.saturating_sub(limit)));
    let after = (offset + limit < page.total).then(|| address(offset + limit));
    let content = html! {
        p class="quiet" { (view::count(page.total)) " displays" }
        @if rows.is_empty() {
            p class="quiet" { "No app has reported a display here." }
        } @else {
            (view::table("Displays", &columns, &rows))
        }
        (view::pager(before.as_deref(), after.as_deref()))
    };
    view::card("Displays", &content)
}

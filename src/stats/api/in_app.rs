//! `GET /campaigns/:campaignId/in-app-stats` and `impressions`.

use std::{cmp::Reverse, collections::BTreeMap};

use analytics::messages::{ShowingFilter, TAIL_DISPLAYS};
use axum::{Json, extract::State};
use kernel::{CampaignId, Timestamp};
use serde::Serialize;
use statistics::proportion::share;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, DateRange, FromQuery, OffsetPage, PathOf, Query, QueryFields},
};

use super::number::Number;
use crate::ops::{self, InAppReport};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(in_app_stats)).routes(routes!(impressions))
}

/// Default and maximum of `limit`.
type Page = OffsetPage<50, 200>;

/// Displays of an in-app campaign and interactions with it, without tests.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct InAppStats {
    campaign_id: CampaignId,
    /// How often the message was displayed.
    impressions: u64,
    /// People who saw the message.
    unique_users: u64,
    clicks: u64,
    /// People who clicked a button.
    unique_clicks: u64,
    /// How often the message was dismissed.
    dismissals: u64,
    #[schema(value_type = f64)]
    click_rate: Number,
    /// By clicks, the most first.
    by_button: Vec<ButtonStat>,
    by_platform: Vec<PlatformStat>,
    display_frequency: DisplayStats,
}

/// Clicks on a button.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ButtonStat {
    button_id: String,
    /// The label in the variants; null for a button that was removed from them.
    text: Option<String>,
    clicks: u64,
}

/// Displays on a platform.
#[derive(Debug, Serialize, ToSchema)]
struct PlatformStat {
    /// `web`, `ios` or `android`.
    platform: String,
    impressions: u64,
    clicks: u64,
}

/// How often people saw the message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DisplayStats {
    /// This many displays and more are one bucket.
    tail_bucket: u64,
    /// By number of displays, ascending; buckets without people are left out.
    buckets: Vec<DisplayBucket>,
    /// Displays to the person who saw it most often.
    max_per_user: u64,
}

/// People who saw the message this often.
#[derive(Debug, Serialize, ToSchema)]
struct DisplayBucket {
    displays: u64,
    users: u64,
    impressions: u64,
}

impl From<InAppReport> for InAppStats {
    fn from(report: InAppReport) -> Self {
        let sum = |of: fn(&analytics::messages::InAppCount) -> u64| {
            report.counts.iter().map(of).sum::<u64>()
        };
        let seen = || report.counts.iter().filter(|count| count.displays > 0);
        let unique_users: u64 = seen().map(|count| count.users).sum();
        let unique_clicks = sum(|count| count.clickers);
        let bucket = |count: &analytics::messages::InAppCount| DisplayBucket {
            displays: count.displays,
            users: count.users,
            impressions: count.impressions,
        };
        Self {
            campaign_id: report.campaign.id,
            impressions: sum(|count| count.impressions),
            unique_users,
            clicks: sum(|count| count.clicks),
            unique_clicks,
            dismissals: sum(|count| count.dismissals),
            // A person who clicked has seen the message, even if the app has not reported the display yet.
            click_rate: Number::of(share(unique_clicks, unique_users.max(unique_clicks))),
            by_button: by_button(&report),
            by_platform: by_platform(&report),
            display_frequency: DisplayStats {
                tail_bucket: TAIL_DISPLAYS,
                buckets: seen().map(bucket).collect(),
                max_per_user: seen().map(|count| count.impressions_max).max().unwrap_or(0),
            },
        }
    }
}

/// Buttons of the variants, including those without clicks, and clicked buttons of earlier variants.
fn by_button(report: &InAppReport) -> Vec<ButtonStat> {
    let mut stats: Vec<ButtonStat> = Vec::new();
    let contents = report.campaign.definition.variants.iter();
    let buttons = contents
        .filter_map(|variant| variant.custom_content.as_ref())
        .flat_map(|content| content.buttons.iter().flatten());
    for button in buttons {
        if !stats.iter().any(|stat| stat.button_id == button.id) {
            let (button_id, text) = (button.id.clone(), Some(button.text.clone()));
            stats.push(ButtonStat { button_id, text, clicks: 0 });
        }
    }
    for place in report.places.iter().filter(|place| !place.button.is_empty()) {
        match stats.iter_mut().find(|stat| stat.button_id == place.button) {
            Some(stat) => stat.clicks += place.clicks,
            None => stats.push(ButtonStat {
                button_id: place.button.clone(),
                text: None,
                clicks: place.clicks,
            }),
        }
    }
    stats.sort_by_key(|stat| Reverse(stat.clicks));
    stats
}

fn by_platform(report: &InAppReport) -> Vec<PlatformStat> {
    let mut platforms: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for place in &report.places {
        let (impressions, clicks) = platforms.entry(&place.platform).or_default();
        *impressions += place.impressions;
        *clicks += place.clicks;
    }
    let stat = |(platform, (impressions, clicks)): (&str, (u64, u64))| PlatformStat {
        platform: platform.to_owned(),
        impressions,
        clicks,
    };
    platforms.into_iter().map(stat).collect()
}

/// Reports displays of an in-app campaign and interactions with it.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/in-app-stats",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses((status = 200, body = InAppStats), (status = 404, description = "absent"))
)]
async fn in_app_stats(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<InAppStats>> {
    let report = ops::in_app_report(&app, caller.workspace(), id).await?;
    Ok(Json(InAppStats::from(report)))
}

/// The query string of the list of displays.
#[derive(Debug)]
pub(super) struct ImpressionsQuery {
    range: DateRange,
    page: Page,
}

impl FromQuery for ImpressionsQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { range: query.date_range(), page: Page::from_query(query) }
    }
}

/// A page of displays of an in-app message, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Impressions {
    data: Vec<Impression>,
    total: u64,
    limit: u32,
    offset: u64,
}

/// One display of the message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Impression {
    /// The app's id of the display.
    id: String,
    user_id: String,
    external_id: Option<String>,
    variant_id: String,
    /// `web`, `ios` or `android`.
    platform: String,
    app_id: Option<String>,
    /// The interaction before the next display: `click`, `dismiss`, or null.
    #[schema(value_type = Option<String>)]
    action: Option<&'static str>,
    /// The first button clicked.
    button_id: Option<String>,
    displayed_at: Timestamp,
    dismissed_at: Option<Timestamp>,
}

impl From<ops::NamedShowing> for Impression {
    fn from(named: ops::NamedShowing) -> Self {
        let ops::NamedShowing { showing, external_id } = named;
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        let is_dismissed = showing.dismissed_ms != 0;
        let action = match (showing.clicks, is_dismissed) {
            (0, false) => None,
            (0, true) => Some("dismiss"),
            _ => Some("click"),
        };
        Self {
            id: showing.id,
            user_id: showing.user,
            external_id,
            variant_id: showing.variant,
            platform: showing.platform,
            app_id: some(showing.app),
            action,
            button_id: some(showing.button),
            displayed_at: Timestamp::from_millis(showing.shown_ms),
            dismissed_at: is_dismissed.then(|| Timestamp::from_millis(showing.dismissed_ms)),
        }
    }
}

/// Lists the displays of an in-app message, newest first.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/impressions",
    tag = "campaigns",
    params(
        ("campaignId" = CampaignId, Path),
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
        ("startDate" = Option<kernel::schema::QueryMoment>, Query, description = "displayed at this time or later"),
        ("endDate" = Option<kernel::schema::QueryMoment>, Query, description = "displayed at this time or before; a date without a time includes its whole day"),
    ),
    responses((status = 200, body = Impressions), (status = 404, description = "absent"))
)]
async fn impressions(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    Query(ImpressionsQuery { range, page }): Query<ImpressionsQuery>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<Impressions>> {
    let filter = ShowingFilter {
        start_ms: range.start.map(Timestamp::millis),
        end_ms: range.end.map(Timestamp::millis),
        limit: page.limit,
        offset: page.offset,
    };
    let (shown, total) = ops::impressions(&app, caller.workspace(), id, &filter).await?;
    Ok(Json(Impressions {
        data: shown.into_iter().map(Impression::from).collect(),
        total,
        limit: page.limit,
        offset: page.offset,
    }))
}

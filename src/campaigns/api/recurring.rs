//! `GET /campaigns/:campaignId/recurring-status`, and `POST /campaigns/preview-schedule`.

use axum::{Json, extract::State};
use kernel::{
    CampaignId, Timestamp,
    fields::{Fields, FromFields, describe::described},
    zone::Zone,
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body, PathOf},
};

use super::{BODY_BYTES_MAX, who};
use crate::{
    CampaignState,
    model::{
        Status,
        settings::{
            end_date::EndDate,
            recurring::{Frequency, RecurringSchedule},
        },
        trial::{Phase, Trial},
    },
    ops::{self, RecurringStatus, UnsavedSchedule, Upcoming},
};

pub(super) fn routes() -> OpenApiRouter<CampaignState> {
    OpenApiRouter::new().routes(routes!(recurring_status)).routes(routes!(preview_schedule))
}

/// The status of a recurring campaign.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecurringAnswer {
    campaign_id: CampaignId,
    status: Status,
    /// Whether occurrences are sent when they are due.
    is_active: bool,
    frequency: Frequency,
    /// The zone of its times.
    #[schema(value_type = String)]
    timezone: Zone,
    /// Number of occurrences so far.
    occurrences_completed: u32,
    max_occurrences: Option<u32>,
    /// Occurrences left; null without a limit.
    remaining_occurrences: Option<u32>,
    last_occurrence_at: Option<Timestamp>,
    /// The next occurrence; if the campaign is not live, the one it would have.
    next_occurrence_at: Option<Timestamp>,
    /// At most the next five.
    #[schema(value_type = Vec<String>)]
    upcoming: Vec<Timestamp>,
    #[schema(value_type = Option<String>)]
    end_date: Option<EndDate>,
    /// Its A/B test, if it has one.
    ab: Option<TrialAnswer>,
}

/// The state of an A/B test.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TrialAnswer {
    phase: Phase,
    winner_variant_id: Option<String>,
    round: u32,
}

impl From<RecurringStatus> for RecurringAnswer {
    fn from(found: RecurringStatus) -> Self {
        let trial = |trial: Trial| TrialAnswer {
            phase: trial.phase,
            winner_variant_id: trial.winner_variant_id,
            round: trial.round,
        };
        let max = found.schedule.max_occurrences;
        Self {
            campaign_id: found.campaign.id,
            status: found.campaign.state.status,
            is_active: found.campaign.state.status == Status::Active,
            frequency: found.schedule.frequency,
            timezone: found.zone,
            occurrences_completed: found.completed,
            max_occurrences: max,
            remaining_occurrences: max.map(|max| max.saturating_sub(found.completed)),
            last_occurrence_at: found.campaign.state.last_sent_at,
            next_occurrence_at: found.upcoming.first().copied(),
            upcoming: found.upcoming,
            end_date: found.schedule.end_date,
            ab: found.trial.map(trial),
        }
    }
}

/// Reports the status of a recurring campaign: occurrences so far, and the next ones.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/recurring-status",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        (status = 200, body = RecurringAnswer),
        (status = 400, description = "it is not recurring"),
        (status = 404, description = "absent"),
    )
)]
async fn recurring_status(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<RecurringAnswer>> {
    let found = ops::recurring_status(&app, &who(&caller), id).await?;
    Ok(Json(found.into()))
}

described!(
    /// A schedule that is not saved.
    UnsavedSchedule as "SchedulePreviewFields"
);

impl FromFields for UnsavedSchedule {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            schedule: body
                .required("recurringSchedule")
                .about("The schedule, in the shape of a campaign's.")
                .as_type::<RecurringSchedule>()
                .object(),
            zone: body
                .optional("scheduledTimezone")
                .about("The IANA zone of a schedule without one; defaults to the workspace's.")
                .parsed(Zone::UTC, Zone::parse),
            campaign: body
                .optional("campaignId")
                .about("The campaign whose occurrences so far count for `maxOccurrences`.")
                .as_type::<CampaignId>()
                .parsed(CampaignId::new(Uuid::nil()), |text| {
                    text.parse().map_err(|_| "must be a UUID".to_owned())
                }),
        }
    }
}

/// The next occurrences of a schedule.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SchedulePreview {
    /// The zone of its times.
    #[schema(value_type = String)]
    timezone: Zone,
    /// At most the next five.
    #[schema(value_type = Vec<String>)]
    upcoming: Vec<Timestamp>,
}

/// Computes the next occurrences of a schedule that is not saved.
#[utoipa::path(
    post,
    path = "/campaigns/preview-schedule",
    tag = "campaigns",
    request_body = UnsavedSchedule,
    responses(
        (status = 200, body = SchedulePreview),
        (status = 404, description = "no such campaign"),
    )
)]
async fn preview_schedule(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    Body(unsaved): Body<UnsavedSchedule, BODY_BYTES_MAX>,
) -> ApiResult<Json<SchedulePreview>> {
    let Upcoming { zone, at } = ops::upcoming_of(&app, &who(&caller), unsaved).await?;
    Ok(Json(SchedulePreview { timezone: zone, upcoming: at }))
}

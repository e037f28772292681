//! `GET /campaigns/:campaignId/recurring-status`.

use axum::{Json, extract::State};
use kernel::{CampaignId, Timestamp, zone::Zone};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, PathOf},
};

use super::who;
use crate::{
    CampaignState,
    model::{
        Status,
        settings::{end_date::EndDate, recurring::Frequency},
        trial::{Phase, Trial},
    },
    ops::{self, RecurringStatus},
};

pub(super) fn routes() -> OpenApiRouter<CampaignState> {
    OpenApiRouter::new().routes(routes!(recurring_status))
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

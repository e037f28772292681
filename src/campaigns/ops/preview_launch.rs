//! Telling what a launch would do, by the very code a launch asks for its audience.

use crate::{
    app::App,
    audience::{
        model::{Ask, Measured},
        ops::Audience,
    },
    campaigns::model::{
        Call, Campaign, CampaignChannel, Definition,
        checks::{self, Check, CheckId, CheckStatus},
        launch::{
            ByClock, LaunchPreview, LaunchSchedule, divide, duration_minutes, first_send_at,
            in_quiet_time, smallest_part, zone_of,
        },
        settings::zone::Zone,
    },
    kernel::{CampaignId, Result, Timestamp, WorkspaceId},
};

use super::{Who, consent, find, spam_score};

/// What launching a campaign now would do. Of a live one with pending edits, what is live.
///
/// # Errors
/// Not found; whatever the audience cannot be asked.
pub async fn preview_launch(app: &App, who: &Who, id: CampaignId) -> Result<LaunchPreview> {
    let campaign = find(app, who.workspace, id).await?;
    let definition = &campaign.definition;
    let (now, zone) = (app.clock().now(), who.zone.parse().unwrap_or(Zone::UTC));
    let first = first_send_at(definition, zone, now);
    let (measured, quiet) = ask(app, who.workspace, definition, (zone, first)).await?;
    let audience = divide(definition, &measured, quiet);
    let mut checks = tokio::task::block_in_place(|| checks::of(definition, zone, now));
    checks.push(checks::sender(definition, app.carried()));
    if let Some(fault) = consent::fault(app, who.workspace, definition).await? {
        checks.push(Check::fail(CheckId::PreferenceAllowed, fault.to_string()));
    }
    checks.push(spam_score(app, definition).await?);
    checks.push(checks::sample_size(definition, smallest_part(definition, &audience)));
    Ok(LaunchPreview {
        campaign_id: campaign.id,
        can_launch: can_launch(&campaign, &checks, now),
        schedule: LaunchSchedule {
            first_send_at: first,
            estimated_duration_minutes: duration_minutes(definition, audience.estimated_sends),
            timezone: zone_of(definition, zone),
        },
        audience,
        checks,
        generated_at: now,
    })
}

fn can_launch(campaign: &Campaign, checks: &[Check], now: Timestamp) -> bool {
    let is_sound = checks.iter().all(|check| check.status != CheckStatus::Fail);
    is_sound && campaign.moved(Call::Send, now).is_ok()
}

/// How large the audience is, and for how many of those whom it reaches the first moment is quiet time.
async fn ask(
    app: &App,
    workspace: WorkspaceId,
    definition: &Definition,
    (zone, first): (Zone, Option<Timestamp>),
) -> Result<(Measured, u64)> {
    let ask = Ask {
        targeting: definition.targeting.as_ref(),
        channel: definition.channel.delivers(),
        list: definition.subscription_category_id,
    };
    let mut audience = Audience::open(app, workspace, &ask).await?;
    let measured = audience.measure().await?;
    // An in-app message waits until its reader comes, at whatever hour.
    let quiet = definition
        .quiet_time_override
        .as_ref()
        .filter(|quiet| quiet.is_enabled() && definition.channel != CampaignChannel::InApp);
    let quiet = match quiet.zip(first) {
        None => 0,
        Some((quiet, at)) => {
            let clocks = audience.reachable_by_timezone(&Zone::names()).await?;
            let clocks: Vec<ByClock> = clocks
                .into_iter()
                .map(|(timezone, recipients)| ByClock { timezone, recipients })
                .collect();
            in_quiet_time(quiet, &clocks, zone, at)
        }
    };
    audience.close().await?;
    Ok((measured, quiet))
}

//! The preview of a launch, by the same code that places the recipients of a launch.

mod person;

use std::collections::HashSet;

use audience::{
    model::{AudienceQuery, Measured, Recipient},
    ops::Audience,
};
use campaigns::model::{
    Call, Campaign, CampaignChannel, Variant,
    checks::{self, Check, CheckId, CheckStatus},
    launch::{
        LaunchPreview, LaunchSchedule, Placed, divide, duration_minutes, first_send_at,
        smallest_part, zone_of,
    },
    settings::limits::{Cadence, SendVolumeLimit},
};
use kernel::{
    CampaignId, Result, Timestamp, UserId, WorkspaceId,
    quiet::{QuietTimeOverride, QuietZone},
    zone::Zone,
};
use sqlx::PgConnection;

pub use self::person::{PersonEligibility, eligibility};
use crate::{
    DeliveryState,
    model::plan::{LeftOut, Placement, Plan},
    ops::{
        enqueue::recipient_clocks::Clocks,
        send::{
            campaign_context::{channel_of, keeps_exposures, quiet_hours},
            eligibility::caps,
        },
    },
    store::{
        claims,
        limits::{self, Counted},
        recipients,
        scope::{MessageScope, RunKey},
        volume,
    },
};

/// Recipients of one page, about 200 bytes each. Each page evaluates the consent of the whole audience.
const PAGE: u32 = 100_000;

/// Previews a launch at this moment; times without a zone are in the workspace's. For a live campaign with pending
/// edits, the live definition counts.
///
/// # Errors
/// Not found; errors of the audience query.
pub async fn preview_launch(
    app: &DeliveryState,
    workspace: WorkspaceId,
    zone: &str,
    id: CampaignId,
) -> Result<LaunchPreview> {
    let campaign = campaigns::ops::find(app, workspace, id).await?;
    let definition = &campaign.definition;
    let (now, zone) = (app.clock().now(), zone.parse().unwrap_or(Zone::UTC));
    let first = first_send_at(definition, zone, now);
    let launch = Launch::of(app, workspace, &campaign, zone, first.unwrap_or(now));
    let (measured, placed) = launch.place().await?;
    let audience = divide(definition, &measured, &placed);
    let mut checks = tokio::task::block_in_place(|| checks::of(definition, zone, now));
    checks.push(campaigns::ops::sender_check(app, workspace, definition).await?);
    if let Some(fault) = campaigns::ops::consent_fault(app, workspace, definition).await? {
        checks.push(Check::fail(CheckId::PreferenceAllowed, fault.to_string()));
    }
    if let Some(fault) = campaigns::ops::segments_fault(app.db(), workspace, definition).await? {
        checks.push(Check::fail(CheckId::SegmentsKnown, fault.to_string()));
    }
    checks.push(campaigns::ops::spam_score(app, definition).await?);
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
    let launches =
        || campaign.transition(Call::Send, now).or_else(|_| campaign.transition(Call::Resend, now));
    is_sound && launches().is_ok()
}

/// A launch that is not executed.
struct Launch<'a> {
    app: &'a DeliveryState,
    workspace: WorkspaceId,
    campaign: &'a Campaign,
    plan: Plan,
    begins: Timestamp,
    /// The zone of recipients without one.
    zone: Zone,
    quiet: Option<QuietTimeOverride>,
    caps: Vec<Counted>,
}

impl<'a> Launch<'a> {
    fn of(
        app: &'a DeliveryState,
        workspace: WorkspaceId,
        campaign: &'a Campaign,
        zone: Zone,
        begins: Timestamp,
    ) -> Self {
        let definition = &campaign.definition;
        // An in-app message waits until its recipient opens the app; quiet hours and caps do not apply.
        let is_sent = definition.channel != CampaignChannel::InApp;
        let mut next = campaign.clone();
        // A second launch would be another occurrence, to which the resend policy applies.
        next.state.occurrence = next.state.occurrence.saturating_add(1);
        let caps = if is_sent && !definition.ignore_touching_rules {
            caps(app, channel_of(campaign, None))
        } else {
            Vec::new()
        };
        Self {
            app,
            workspace,
            campaign,
            plan: Plan::of(&next, begins),
            begins,
            zone,
            quiet: quiet_hours(app, definition).filter(|_| is_sent),
            caps,
        }
    }

    /// Whether single recipients matter, and not only their number.
    fn asks_who(&self) -> bool {
        self.campaign.definition.variants.len() > 1
            || self.quiet.is_some()
            || !self.caps.is_empty()
            || self.plan.left_out() != LeftOut::NoProfile
    }

    async fn place(mut self) -> Result<(Measured, Placed)> {
        let definition = &self.campaign.definition;
        let query = AudienceQuery {
            targeting: definition.targeting.as_ref(),
            channel: definition.channel.delivers(),
            list: definition.subscription_category_id,
        };
        let mut audience = Audience::open(self.app.contacts(), self.workspace, &query).await?;
        let measured = audience.measure().await?;
        let mut placed = Placed { sends: vec![0; definition.variants.len()], ..Placed::default() };
        placed.volume = self.volume().await?;
        if !self.asks_who() {
            if let Some(only) = placed.sends.first_mut() {
                *only = measured.reachable;
            }
            audience.close().await?;
            return Ok((measured, placed));
        }
        let clocks = Clocks::of(self.app, self.workspace, self.campaign, self.zone, self.begins);
        let clocks = clocks.await?;
        clocks.apply_to(&mut self.plan);
        let mut after = None;
        loop {
            let page = audience.reachable_page(after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.user);
            self.count(&page, &clocks, &mut placed).await?;
            if page.len() < usize::try_from(PAGE).unwrap_or(usize::MAX) {
                break;
            }
        }
        audience.close().await?;
        Ok((measured, placed))
    }

    /// The number of messages that the volume limit allows.
    async fn volume(&self) -> Result<Option<u64>> {
        let limit = self.campaign.definition.send_volume_limit.as_ref();
        let Some((limit, max)) = limit.and_then(|it| Some((it, it.max_sends()?))) else {
            return Ok(None);
        };
        let used = match SendVolumeLimit::cadence(limit) {
            Cadence::PerSend => 0,
            Cadence::Lifetime => {
                let mut connection = self.app.db().acquire().await?;
                let (workspace, campaign) = (self.workspace, self.campaign.id);
                let scope = MessageScope { workspace, campaign, occurrence: None };
                volume::used(&mut connection, scope).await?
            }
        };
        Ok(Some(u64::from(max).saturating_sub(used.unsigned_abs())))
    }

    async fn count(&self, page: &[Recipient], clocks: &Clocks, placed: &mut Placed) -> Result<()> {
        let users: Vec<UserId> = page.iter().map(|recipient| recipient.user).collect();
        let mut connection = self.app.db().acquire().await?;
        let (received, full) = self.held_back(&mut connection, &users).await?;
        let exposures = if keeps_exposures(self.campaign) {
            let asked = self.campaign.id;
            recipients::exposures(&mut connection, self.workspace, asked, &users).await?
        } else {
            std::collections::HashMap::new()
        };
        drop(connection);
        for recipient in page {
            if received.contains(&recipient.user) {
                placed.already_received += 1;
                continue;
            }
            let exposure = exposures.get(&recipient.user).map(String::as_str);
            let candidate = clocks.candidate(recipient, exposure);
            let (variant, at) = match self.plan.place(&candidate) {
                Placement::Control(..) => {
                    placed.control += 1;
                    continue;
                }
                // A recipient who waits for a winner counts for the variant they would have without a test.
                Placement::Send(variant, at) => {
                    (variant.or_else(|| self.plan.lot(recipient.user, exposure)), at)
                }
                Placement::Skip(_) => (self.plan.lot(recipient.user, exposure), self.begins),
            };
            if self.is_quiet(clocks.zone_of(recipient), at) {
                placed.quiet += 1;
            } else if full.contains(&recipient.user) {
                placed.capped += 1;
            } else if let Some(sends) =
                self.place_of(variant).and_then(|at| placed.sends.get_mut(at))
            {
                *sends += 1;
            }
        }
        Ok(())
    }

    /// The recipients of a page who had it before, and those at their frequency cap.
    async fn held_back(
        &self,
        connection: &mut PgConnection,
        users: &[UserId],
    ) -> Result<(HashSet<UserId>, HashSet<UserId>)> {
        let (mut received, mut full) = (HashSet::new(), HashSet::new());
        if let LeftOut::SentSince(since) = self.plan.left_out() {
            let next = RunKey {
                workspace: self.workspace,
                campaign: self.campaign.id,
                occurrence: self.campaign.state.occurrence.saturating_add(1),
            };
            received = claims::sent_before(connection, next, users, since).await?;
        }
        for cap in &self.caps {
            full.extend(limits::capped(connection, self.workspace, users, cap, self.begins).await?);
        }
        Ok((received, full))
    }

    fn is_quiet(&self, zone: Zone, at: Timestamp) -> bool {
        self.quiet.as_ref().is_some_and(|quiet| {
            let zone = match quiet.zone() {
                QuietZone::Fixed(fixed) => fixed,
                QuietZone::Recipient => zone,
            };
            quiet.covers(at, zone)
        })
    }

    fn place_of(&self, variant: Option<&Variant>) -> Option<usize> {
        let id = &variant?.id;
        self.campaign.definition.variants.iter().position(|it| it.id == *id)
    }
}

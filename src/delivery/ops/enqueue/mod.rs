//! Materialises the audience of a run: a message for every recipient, page by page, also for excluded ones. The
//! position is stored with the page, so that another process can go on from there.

pub(crate) mod recipient_clocks;

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use audience::{
    model::{AudienceQuery, Exclusion, Reached, Recipient, Targeting},
    ops::Audience,
};
use campaigns::model::{
    Campaign, CampaignChannel, message::MessageChannel, settings::limits::Cadence,
};
use kernel::{Error, Result, Timestamp, UserId, WorkspaceId, zone::Zone};
use sqlx::PgConnection;
use uuid::Uuid;

use self::recipient_clocks::Clocks;
use crate::{
    DeliveryState,
    model::{
        eligibility::{self, Rules},
        message::{NewMessage, Purpose, Start, message_id},
        plan::{Candidate, LeftOut, Placement, Plan},
        skip::{Skip, SkipReason},
    },
    ops::{
        lifecycle::{self, LifecycleEvent},
        queues::SendQueues,
        send::campaign_context::{channel_of, keeps_exposures},
    },
    store::{
        claims, messages,
        recipients::{self, Exposure},
        runs::{self, Hold, Run},
        scope::{DuePage, MessageScope},
        volume,
    },
};

/// Recipients of one page: of one transaction, and one call of the spool.
const PAGE: u32 = 5_000;
/// The lease of a run, without a renewal.
const LEASE: Duration = Duration::from_mins(1);
/// A failed run is tried again after this time.
const RETRY_AFTER: Duration = Duration::from_secs(10);
/// Quiet hours and caps hold a message back at most this long.
const DEFERRED_MAX: Duration = Duration::from_hours(72);

/// Materialises one run, if one is due; returns whether one was.
///
/// # Errors
/// When a store is unavailable; the run is released.
pub(crate) async fn write_one(app: &DeliveryState, queues: &SendQueues) -> Result<bool> {
    let now = app.clock().now();
    let by = Uuid::now_v7();
    let Some(run) = runs::take(app.db(), hold(by, now), now).await? else { return Ok(false) };
    let _materialising = queues.materialise();
    let writer = Writer { app, by, run };
    match writer.write().await {
        Ok(()) => Ok(true),
        Err(error) => {
            let until = app.clock().now().after(RETRY_AFTER);
            runs::release(app.db(), &writer.run, by, Some(until)).await?;
            writer.failed(error).await.map(|()| true)
        }
    }
}

fn hold(by: Uuid, now: Timestamp) -> Hold {
    Hold { by, until: now.after(LEASE) }
}

/// Stores messages whose `queued` events are published; returns their number.
///
/// # Errors
/// When the store fails.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    queued: &[NewMessage],
    now: Timestamp,
) -> Result<u64> {
    messages::insert(connection, workspace, queued, now).await
}

/// A run under materialisation.
struct Writer<'a> {
    app: &'a DeliveryState,
    by: Uuid,
    run: Run,
}

impl Writer<'_> {
    /// Ends the campaign after an error that a retry cannot solve.
    async fn failed(&self, error: Error) -> Result<()> {
        let (app, run) = (self.app, &self.run);
        if matches!(error, Error::BadRequest { .. } | Error::Invalid(_)) {
            let reason = format!("the audience cannot be asked: {error}");
            return campaigns::ops::give_up(app, run.workspace, run.campaign, &reason).await;
        }
        Err(error)
    }

    async fn write(&self) -> Result<()> {
        let (app, run) = (self.app, &self.run);
        let campaign = campaigns::ops::find(app, run.workspace, run.campaign).await?;
        if run.is_retried && !self.try_anew().await? {
            return Ok(());
        }
        if !run.is_written && !self.write_audience(&campaign).await? {
            return Ok(());
        }
        self.cut_to_volume(&campaign).await?;
        let mut connection = app.db().acquire().await?;
        runs::written(&mut connection, run, self.by, app.clock().now()).await?;
        app.due_signal().notify();
        Ok(())
    }

    /// Queues the failed messages again; false if the lease was lost meanwhile.
    async fn try_anew(&self) -> Result<bool> {
        let (app, run) = (self.app, &self.run);
        loop {
            let now = app.clock().now();
            let mut tx = app.db().begin().await?;
            let page = DuePage { now, limit: i64::from(PAGE) };
            let anew = claims::retry_failed(&mut tx, run.key(), page).await?;
            if !runs::advance(&mut tx, run, None, hold(self.by, now)).await? {
                return Ok(false);
            }
            tx.commit().await?;
            if anew == 0 {
                return Ok(true);
            }
        }
    }

    /// Materialises the audience; false if the lease was lost, or the campaign halted, meanwhile.
    async fn write_audience(&self, campaign: &Campaign) -> Result<bool> {
        let (app, run) = (self.app, &self.run);
        let definition = &campaign.definition;
        let query = AudienceQuery {
            targeting: definition.targeting.as_ref(),
            channel: definition.channel.delivers(),
            list: definition.subscription_category_id,
        };
        let mut plan = Plan::of(campaign, run.started);
        let clocks = if plan.wants_hours() {
            let mut connection = app.db().acquire().await?;
            let zone = recipients::workspace_zone(&mut connection, run.workspace).await?;
            drop(connection);
            let zone = zone.and_then(|zone| zone.parse().ok()).unwrap_or(Zone::UTC);
            let clocks = Clocks::of(app, run.workspace, campaign, zone, run.started).await?;
            clocks.apply_to(&mut plan);
            Some(clocks)
        } else {
            None
        };
        if plan.has_waves() {
            plan.set_wave_gap(campaigns::ops::wave_gap(app, run.workspace, campaign).await?);
        }
        let placing = Placing { campaign, plan: &plan, clocks: clocks.as_ref() };
        let mut audience =
            Audience::open_for_sending(app.contacts(), run.workspace, &query).await?;
        let mut after = run.after;
        loop {
            let page = audience.page(after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.user);
            if !self.write_page(placing, &page).await? {
                audience.close().await?;
                return Ok(false);
            }
            app.due_signal().notify();
            if page.len() < usize::try_from(PAGE).unwrap_or(usize::MAX) {
                break;
            }
        }
        audience.close().await?;
        Ok(true)
    }

    async fn write_page(&self, placing: Placing<'_>, page: &[Reached]) -> Result<bool> {
        let (app, run) = (self.app, &self.run);
        let now = app.clock().now();
        let users: Vec<UserId> = page.iter().map(|reached| reached.user).collect();
        let mut tx = app.db().begin().await?;
        let mut known = Known::of(&mut tx, run, placing, &users).await?;
        known.refuse(&mut tx, run, placing.campaign, page).await?;
        let placed: Vec<NewMessage> =
            page.iter().map(|reached| known.place(run, placing, *reached)).collect();
        let events: Vec<LifecycleEvent> =
            placed.iter().flat_map(|message| lifecycle::of_new(run.workspace, message)).collect();
        lifecycle::publish(app, &events, now).await?;
        messages::insert(&mut tx, run.workspace, &placed, now).await?;
        if known.keeps_exposures {
            let given: Vec<Exposure<'_>> = placed.iter().filter_map(given).collect();
            recipients::expose(&mut tx, run.workspace, run.campaign, &given).await?;
        }
        let last = users.last().copied();
        if !runs::advance(&mut tx, run, last, hold(self.by, now)).await? {
            return Ok(false);
        }
        tx.commit().await?;
        metrics_catalogue::DELIVERY_QUEUED.increment(placed.len() as u64);
        Ok(true)
    }

    /// Puts the messages beyond the volume limit into the reserve.
    async fn cut_to_volume(&self, campaign: &Campaign) -> Result<()> {
        let (app, run) = (self.app, &self.run);
        let limit = campaign.definition.send_volume_limit.as_ref();
        let Some((limit, max)) = limit.and_then(|limit| Some((limit, limit.max_sends()?))) else {
            return Ok(());
        };
        let mut connection = app.db().acquire().await?;
        let scope = MessageScope {
            workspace: run.workspace,
            campaign: run.campaign,
            occurrence: (limit.cadence() == Cadence::PerSend).then_some(run.occurrence),
        };
        let room = i64::from(max) - volume::used(&mut connection, scope).await?;
        let first = volume::first_beyond(&mut connection, run.key(), room).await?;
        let Some(first) = first else { return Ok(()) };
        let limit = i64::from(PAGE);
        while volume::move_to_reserve(&mut connection, run.key(), first, limit).await? > 0 {}
        Ok(())
    }
}

fn given(message: &NewMessage) -> Option<Exposure<'_>> {
    Some(Exposure { user: message.user?, variant: message.variant.as_deref()? })
}

/// The settings that place all recipients of an audience.
#[derive(Clone, Copy)]
struct Placing<'a> {
    campaign: &'a Campaign,
    plan: &'a Plan,
    /// For individual send times.
    clocks: Option<&'a Clocks>,
}

/// The data that places the recipients of a page.
struct Known {
    exposures: HashMap<UserId, String>,
    keeps_exposures: bool,
    clocks: HashMap<UserId, Recipient>,
    received: HashSet<UserId>,
    refused: HashMap<UserId, Skip>,
}

impl Known {
    async fn of(
        tx: &mut PgConnection,
        run: &Run,
        placing: Placing<'_>,
        users: &[UserId],
    ) -> Result<Self> {
        let workspace = run.workspace;
        let keeps_exposures = keeps_exposures(placing.campaign);
        let exposures = if keeps_exposures {
            recipients::exposures(&mut *tx, workspace, run.campaign, users).await?
        } else {
            HashMap::new()
        };
        let mut known = Self {
            exposures,
            keeps_exposures,
            clocks: HashMap::new(),
            received: HashSet::new(),
            refused: HashMap::new(),
        };
        if placing.clocks.is_some() {
            known.clocks = recipients::clocks(&mut *tx, workspace, users).await?;
        }
        if let LeftOut::SentSince(since) = placing.plan.left_out() {
            known.received = claims::sent_before(&mut *tx, run.key(), users, since).await?;
        }
        Ok(known)
    }

    /// The rules by which the audience excludes recipients, with the details.
    async fn refuse(
        &mut self,
        tx: &mut PgConnection,
        run: &Run,
        campaign: &Campaign,
        page: &[Reached],
    ) -> Result<()> {
        let definition = &campaign.definition;
        let Some(channel) = MessageChannel::of(definition.channel) else { return Ok(()) };
        let left_out = page.iter().filter(|reached| reached.excluded.is_some());
        let left_out: Vec<UserId> = left_out.map(|reached| reached.user).collect();
        if left_out.is_empty() {
            return Ok(());
        }
        let rules = Rules {
            purpose: Purpose::Campaign,
            channel,
            preference: definition
                .targeting
                .as_ref()
                .map(Targeting::preference)
                .unwrap_or_default(),
            bypass_unsubscribe: false,
        };
        let list = definition.subscription_category_id;
        let facts = recipients::facts(tx, run.workspace, channel, list, &left_out).await?;
        let refused = facts.into_iter().filter_map(|(user, facts)| {
            eligibility::admit(&facts, rules).err().map(|skip| (user, skip))
        });
        self.refused = refused.collect();
        Ok(())
    }

    /// The message of one recipient.
    fn place(
        &self,
        run: &Run,
        Placing { campaign, plan, clocks }: Placing<'_>,
        Reached { user, excluded }: Reached,
    ) -> NewMessage {
        let exposure = self.exposures.get(&user).map(String::as_str);
        let own = clocks.zip(self.clocks.get(&user));
        let candidate = own.map_or(
            Candidate { user, exposure, zone: Zone::UTC, best_hour: None },
            |(clocks, recipient)| clocks.candidate(recipient, exposure),
        );
        let (variant, start) = if let Some(excluded) = excluded {
            let skip = self.refused.get(&user).cloned();
            (None, Start::Skipped(skip.unwrap_or_else(|| exclusion(excluded))))
        } else if self.received.contains(&user) {
            let detail = "the campaign was sent to them before";
            (None, Start::Skipped(Skip::new(SkipReason::ResendPolicy, detail)))
        } else {
            match plan.place(&candidate) {
                Placement::Control(variant, due) => (Some(variant), Start::Control { due }),
                Placement::Skip(reason) => (None, Start::Skipped(Skip::plain(reason))),
                Placement::Send(variant, due) => {
                    let expires = due.after(DEFERRED_MAX);
                    (variant, Start::Queued { due, expires: Some(expires) })
                }
            }
        };
        NewMessage {
            id: message_id(run.campaign, run.occurrence, &user),
            purpose: Purpose::Campaign,
            campaign: Some(run.campaign),
            occurrence: run.occurrence,
            user: Some(user),
            channel: match campaign.definition.channel {
                CampaignChannel::AiOptimized => channel_of(campaign, variant),
                _ => channel_of(campaign, None),
            },
            variant: variant.map(|variant| variant.id.clone()),
            context: None,
            start,
        }
    }
}

/// The reason why an audience excludes a recipient.
fn exclusion(excluded: Exclusion) -> Skip {
    let (reason, detail) = match excluded {
        Exclusion::NoAddress => {
            (SkipReason::NoAddress, "the profile has no address for the channel")
        }
        Exclusion::InvalidAddress => {
            (SkipReason::InvalidAddress, "the address is invalid, or a hard bounce marked it")
        }
        Exclusion::Unsubscribed => {
            (SkipReason::ChannelConsent, "not subscribed to the channel or the list")
        }
        Exclusion::Suppressed => (SkipReason::Suppressed(None), "the address is suppressed"),
    };
    Skip::new(reason, detail)
}

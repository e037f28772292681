//! Checks a batch of due messages: eligibility, frequency caps, and rendering.

use std::collections::{BTreeSet, HashMap, HashSet};

use audience::model::SubscriptionPreference;
use campaigns::model::message::MessageChannel;
use config::ANY_CHANNEL;
use kernel::{PhoneNumber, Result, Timestamp, UserId, WorkspaceId};
use providers::model::Outgoing;
use sqlx::PgConnection;
use web::links::Signer;

use super::{
    campaign_context::{CampaignContext, channel_of},
    sender_domain::{NOT_VERIFIED, Senders},
};
use crate::{
    DeliveryState,
    model::{
        Context, Recipient,
        claimed::{Claimed, MessageStatus, ReadyMessage, SettledMessage},
        eligibility::{self, Facts, Quiet, RecipientClock, Rules},
        message::{Purpose, channel_name},
        plan::Draw,
        skip::{Skip, SkipReason},
    },
    ops::devices,
    render::{Around, Prepared, RenderFault, Rendered},
    store::{
        limits::{self, Counted},
        recipients::{self, Exposure},
        short_links::{self, MessageLink},
    },
};

/// A batch after the checks.
#[derive(Debug, Default)]
pub(crate) struct CheckedBatch {
    pub(crate) ready: Vec<ReadyMessage>,
    pub(crate) settled: Vec<SettledMessage>,
    /// When to check the messages again that wait for the end of an A/B test; they are unchanged.
    pub(crate) waits: Option<Timestamp>,
    /// Messages of the control group that were settled: they count like sent ones against the rate of the campaign.
    pub(crate) held_back: usize,
}

/// The context of the checks: messages of one workspace, and of one campaign or none.
pub(crate) struct Eligibility<'a> {
    pub(crate) app: &'a DeliveryState,
    pub(crate) connection: &'a mut PgConnection,
    pub(crate) workspace: WorkspaceId,
    pub(crate) campaign_context: Option<&'a CampaignContext>,
    pub(crate) signer: &'a Signer,
    pub(crate) now: Timestamp,
}

/// A message that passed the eligibility rules, and its address.
struct Admitted {
    message: Claimed,
    facts: Facts,
    to: String,
}

impl CheckedBatch {
    pub(super) fn settle(&mut self, message: Claimed, status: MessageStatus) {
        self.settled.push(SettledMessage { message, status });
    }
}

impl Eligibility<'_> {
    pub(crate) async fn check(mut self, batch: Vec<Claimed>) -> Result<CheckedBatch> {
        let mut checked = CheckedBatch::default();
        let batch = self.in_time(batch, &mut checked);
        let batch = self.as_one_person(batch, &mut checked).await?;
        let batch = self.draw(batch, &mut checked).await?;
        let (control, batch) = batch.into_iter().partition(|message| message.is_control);
        self.hold_back(control, &mut checked).await?;
        let batch = self.enabled(batch, &mut checked);
        self.lock_tallies(&batch).await?;
        let mut by_channel = Vec::<(MessageChannel, Vec<Claimed>)>::new();
        for message in batch {
            match by_channel.iter_mut().find(|(channel, _)| *channel == message.channel) {
                Some((_, messages)) => messages.push(message),
                None => by_channel.push((message.channel, vec![message])),
            }
        }
        for (channel, messages) in by_channel {
            let admitted = self.admit(channel, messages, &mut checked).await?;
            let (admitted, counted) = self.cap(channel, admitted, &mut checked).await?;
            let not_rendered = self.render(admitted, &mut checked).await?;
            for cap in counted {
                let channel = cap.channel.as_str();
                limits::uncount_sends(self.connection, self.workspace, &not_rendered, channel)
                    .await?;
            }
        }
        Ok(checked)
    }

    /// Skips messages that were held back for too long.
    fn in_time(&self, batch: Vec<Claimed>, checked: &mut CheckedBatch) -> Vec<Claimed> {
        let mut left = Vec::with_capacity(batch.len());
        for message in batch {
            match message.expires.filter(|expires| *expires <= self.now) {
                None => left.push(message),
                Some(expires) => {
                    let reason = format!("it was to leave by {expires}");
                    let skip = Skip::new(SkipReason::Expired, reason);
                    checked.settle(message, MessageStatus::Skipped(skip));
                }
            }
        }
        left
    }

    /// Draws the variants of messages without one.
    async fn draw(
        &mut self,
        batch: Vec<Claimed>,
        checked: &mut CheckedBatch,
    ) -> Result<Vec<Claimed>> {
        let Some(campaign_context) = self.campaign_context else { return Ok(batch) };
        let undrawn: Vec<UserId> = batch
            .iter()
            .filter(|message| message.variant.is_none() && !message.is_control)
            .filter_map(|message| message.user)
            .collect();
        if undrawn.is_empty() {
            return Ok(batch);
        }
        let id = campaign_context.campaign.id;
        let exposures = if campaign_context.keeps_exposures() {
            recipients::exposures(self.connection, self.workspace, id, &undrawn).await?
        } else {
            HashMap::new()
        };
        let mut left = Vec::with_capacity(batch.len());
        let mut given = Vec::new();
        for mut message in batch {
            let (None, Some(user), false) = (&message.variant, message.user, message.is_control)
            else {
                left.push(message);
                continue;
            };
            let exposure = exposures.get(&user).map(String::as_str);
            match campaign_context.plan.draw(user, exposure, self.now) {
                Some(Draw::Variant(variant)) => {
                    message.variant = Some(variant.id.clone());
                    message.channel = channel_of(&campaign_context.campaign, Some(variant));
                    given.push(Exposure { user, variant: variant.id.as_str() });
                    left.push(message);
                }
                Some(Draw::Control(variant)) => {
                    message.is_control = true;
                    given.push(Exposure { user, variant: variant.id.as_str() });
                    left.push(message);
                }
                Some(Draw::Wait(until)) => {
                    checked.waits = Some(checked.waits.map_or(until, |waits| waits.min(until)));
                }
                Some(Draw::Skip(reason)) => {
                    checked.settle(message, MessageStatus::Skipped(Skip::plain(reason)));
                }
                None => checked.settle(message, no_variant()),
            }
        }
        if campaign_context.keeps_exposures() {
            recipients::expose(self.connection, self.workspace, id, &given).await?;
        }
        Ok(left)
    }

    /// Settles messages of the control group, in quiet hours later. No other rule applies to them: a treated recipient
    /// whom a rule excludes counts where they were assigned, too.
    async fn hold_back(
        &mut self,
        messages: Vec<Claimed>,
        checked: &mut CheckedBatch,
    ) -> Result<()> {
        let Some(campaign_context) = self.campaign_context else { return Ok(()) };
        let users: Vec<UserId> = messages.iter().filter_map(|message| message.user).collect();
        let clocks = match &campaign_context.quiet {
            Some(_) => recipients::clocks(self.connection, self.workspace, &users).await?,
            None => HashMap::new(),
        };
        for message in messages {
            let recipient = message.user.and_then(|user| clocks.get(&user));
            let quiet = recipient.map_or(Quiet::Loud, |of| {
                self.quiet(&message, of.timezone.as_deref(), of.country.as_deref())
            });
            match quiet {
                Quiet::Until(until, skip) => {
                    checked.settle(message, MessageStatus::Held { until, skip });
                }
                Quiet::Never(_) | Quiet::Loud => {
                    checked.held_back += 1;
                    let message = campaign_context.control_of(message);
                    checked.settle(message, MessageStatus::Control);
                }
            }
        }
        Ok(())
    }

    /// Releases messages to other processes whose variant is on a channel without a provider here.
    fn enabled(&self, batch: Vec<Claimed>, checked: &mut CheckedBatch) -> Vec<Claimed> {
        if self.campaign_context.is_none() {
            return batch;
        }
        let (here, elsewhere): (Vec<Claimed>, Vec<Claimed>) =
            batch.into_iter().partition(|message| self.app.providers().has(message.channel));
        for message in elsewhere {
            checked.settle(message, MessageStatus::Released { due: self.now });
        }
        here
    }

    /// Applies the eligibility rules and the quiet hours to each message.
    async fn admit(
        &mut self,
        channel: MessageChannel,
        messages: Vec<Claimed>,
        checked: &mut CheckedBatch,
    ) -> Result<Vec<Admitted>> {
        let users: Vec<UserId> = messages.iter().filter_map(|message| message.user).collect();
        let list =
            self.campaign_context.and_then(|it| it.campaign.definition.subscription_category_id);
        let mut facts =
            recipients::facts(self.connection, self.workspace, channel, list, &users).await?;
        if channel == MessageChannel::Push {
            for (user, devices) in
                devices::of_users(self.connection, self.workspace, &users).await?
            {
                if let Some(facts) = facts.get_mut(&user) {
                    facts.devices = devices;
                }
            }
        }
        let mut admitted = Vec::with_capacity(messages.len());
        for message in messages {
            let gone = || Facts { is_deleted: true, ..Facts::default() };
            let mut known = match message.user {
                Some(user) => facts.get(&user).cloned().unwrap_or_else(gone),
                None => Facts::default(),
            };
            self.redirect(&message, &mut known).await?;
            let address = eligibility::admit(&known, self.rules(&message));
            match address.map(|to| (to, self.quiet_of(&message, &known.recipient))) {
                Err(skip) | Ok((_, Quiet::Never(skip))) => {
                    checked.settle(message, MessageStatus::Skipped(skip));
                }
                Ok((_, Quiet::Until(until, skip))) => {
                    checked.settle(message, MessageStatus::Held { until, skip });
                }
                Ok((to, Quiet::Loud)) => admitted.push(Admitted { message, facts: known, to }),
            }
        }
        Ok(admitted)
    }

    /// A test may be sent to another address than the profile's.
    async fn redirect(&mut self, message: &Claimed, facts: &mut Facts) -> Result<()> {
        let to = message.context.as_ref().and_then(|context| context.get("to")?.as_str());
        let (Purpose::Test, Some(to)) = (message.purpose, to) else { return Ok(()) };
        let recipient = &mut facts.recipient;
        match message.channel {
            MessageChannel::Email => recipient.email = Some(to.to_owned()),
            MessageChannel::Push => recipient.external_id = Some(to.to_owned()),
            _ => {
                recipient.phone = Some(to.to_owned());
                facts.phone_normal = to.parse().ok().map(PhoneNumber::into_string);
            }
        }
        (facts.is_invalid, facts.devices) = (false, Vec::new());
        facts.suppressed =
            recipients::suppressed(self.connection, self.workspace, message.channel, to).await?;
        Ok(())
    }

    fn rules(&self, message: &Claimed) -> Rules {
        let preference = self.campaign_context.map(|campaign_context| campaign_context.preference);
        Rules {
            purpose: message.purpose,
            channel: message.channel,
            preference: preference.unwrap_or(SubscriptionPreference::SubscribedOrOptedIn),
            bypass_unsubscribe: self.app.transactional().bypass_unsubscribe,
        }
    }

    fn quiet(&self, message: &Claimed, timezone: Option<&str>, country: Option<&str>) -> Quiet {
        let Some(campaign_context) = self.campaign_context else { return Quiet::Loud };
        let Some(hours) = &campaign_context.quiet else { return Quiet::Loud };
        let clock = RecipientClock { timezone, country, workspace_zone: campaign_context.zone };
        eligibility::quiet(hours, clock, message.id, self.now)
    }

    fn quiet_of(&self, message: &Claimed, recipient: &Recipient) -> Quiet {
        let country = recipient.attributes.get("country").and_then(serde_json::Value::as_str);
        self.quiet(message, recipient.timezone.as_deref(), country)
    }

    /// Locks the counts of the recipients of a batch, of all its channels at once.
    async fn lock_tallies(&mut self, batch: &[Claimed]) -> Result<()> {
        if !self.campaign_context.is_some_and(CampaignContext::is_capped) {
            return Ok(());
        }
        limits::lock_tallies(self.connection, &tallies(self.app, batch)).await
    }

    /// Counts messages against the frequency caps, and skips those beyond a cap.
    async fn cap(
        &mut self,
        channel: MessageChannel,
        mut admitted: Vec<Admitted>,
        checked: &mut CheckedBatch,
    ) -> Result<(Vec<Admitted>, Vec<Counted>)> {
        let mut counted: Vec<Counted> = Vec::new();
        let Some(campaign_context) = self.campaign_context else { return Ok((admitted, counted)) };
        if !campaign_context.is_capped() {
            return Ok((admitted, counted));
        }
        let caps = caps(self.app, channel);
        if !caps.is_empty() {
            // Of several messages to one profile, the first is counted before the next is checked, in another batch.
            let mut seen = HashSet::new();
            admitted.retain(|it| it.message.user.is_none_or(|user| seen.insert(user)));
        }
        for cap in caps {
            // A retried message was counted at its first attempt.
            let users: Vec<UserId> = admitted
                .iter()
                .filter(|it| it.message.attempts == 0)
                .filter_map(|it| it.message.user)
                .collect();
            let full = limits::count_sends(self.connection, self.workspace, &users, &cap, self.now)
                .await?;
            let (out, left): (Vec<_>, Vec<_>) = admitted.into_iter().partition(|it| {
                let user = it.message.user;
                it.message.attempts == 0 && user.is_some_and(|user| full.contains(&user))
            });
            admitted = left;
            let (max, hours) = (cap.max, cap.hours);
            let refused: Vec<UserId> = out.iter().filter_map(|it| it.message.user).collect();
            for earlier in &counted {
                let channel = earlier.channel.as_str();
                limits::uncount_sends(self.connection, self.workspace, &refused, channel).await?;
            }
            for it in out {
                let detail = format!("{max} messages in {hours} hours ({})", cap.channel);
                let skip = Skip::new(SkipReason::FrequencyCap, detail);
                checked.settle(it.message, MessageStatus::Skipped(skip));
            }
            counted.push(cap);
        }
        Ok((admitted, counted))
    }

    /// Renders the messages; returns the profiles whose message failed.
    async fn render(
        &mut self,
        admitted: Vec<Admitted>,
        checked: &mut CheckedBatch,
    ) -> Result<Vec<UserId>> {
        let rendered: Vec<(Admitted, Result<Rendered, RenderFault>)> =
            tokio::task::block_in_place(|| {
                let each = admitted.into_iter().map(|it| {
                    let rendered = self.render_one(&it.message, &it.facts.recipient);
                    (it, rendered)
                });
                each.collect()
            });
        let (mut not_rendered, mut links) = (Vec::new(), Vec::new());
        let mut senders = Senders::default();
        for (Admitted { message, facts, to }, rendered) in rendered {
            match rendered {
                Ok(mut rendered) => {
                    let problem = senders
                        .check(self.app, self.connection, self.workspace, &mut rendered.content)
                        .await?;
                    if let Some(problem) = problem {
                        not_rendered.extend(message.user);
                        let (code, reason) = (NOT_VERIFIED.to_owned(), format!("from {problem}"));
                        checked.settle(message, MessageStatus::Failed { code, reason });
                        continue;
                    }
                    let short = rendered.short_links.into_iter();
                    links.extend(short.map(|link| MessageLink { message: message.id, link }));
                    let outgoing = outgoing(&message, facts, to, rendered.content);
                    checked.ready.push(ReadyMessage { message, outgoing });
                }
                Err(fault) => {
                    not_rendered.extend(message.user);
                    let (code, reason) = (RenderFault::CODE.to_owned(), fault.reason);
                    checked.settle(message, MessageStatus::Failed { code, reason });
                }
            }
        }
        short_links::save(self.connection, self.workspace, &links, self.now).await?;
        Ok(not_rendered)
    }

    /// Renders the content of a message for its recipient.
    fn render_one(
        &self,
        message: &Claimed,
        recipient: &Recipient,
    ) -> Result<Rendered, RenderFault> {
        let wrong = |reason: &str| RenderFault { reason: reason.to_owned() };
        let context: Context = match &message.context {
            None => Context::default(),
            Some(context) => serde_json::from_value(context.clone())
                .map_err(|_| wrong("context: is not in the shape of one"))?,
        };
        let around = Around {
            workspace: self.workspace,
            message: message.id,
            now: self.now,
            signer: self.signer,
            context: &context,
        };
        if let Some(content) = &context.content {
            return Prepared::of_stored(content)?.render(recipient, &around);
        }
        let variant = message.variant.as_deref();
        match self
            .campaign_context
            .zip(variant)
            .and_then(|(campaign_context, variant)| campaign_context.prepared(variant))
        {
            Some(Ok(prepared)) => prepared.render(recipient, &around),
            Some(Err(fault)) => Err(fault.clone()),
            None => Err(wrong("variant: is not there any more")),
        }
    }
}

fn no_variant() -> MessageStatus {
    let reason = "the campaign has no variants".to_owned();
    MessageStatus::Failed { code: RenderFault::CODE.to_owned(), reason }
}

/// The frequency caps of a channel.
pub(crate) fn caps(app: &DeliveryState, channel: MessageChannel) -> Vec<Counted> {
    let caps = app.delivery().caps.iter();
    let counts = |name: &str| name == ANY_CHANNEL || name == channel_name(channel);
    caps.filter(|(name, _)| counts(name))
        .map(|(name, cap)| Counted { channel: name.clone(), max: cap.max, hours: cap.hours })
        .collect()
}

/// The counts of messages, by workspace, cap and profile.
pub(crate) fn tallies<'m>(
    app: &DeliveryState,
    messages: impl IntoIterator<Item = &'m Claimed>,
) -> BTreeSet<(WorkspaceId, String, UserId)> {
    let mut all = BTreeSet::new();
    for message in messages {
        let Some(user) = message.user else { continue };
        for cap in caps(app, message.channel) {
            all.insert((message.workspace, cap.channel, user));
        }
    }
    all
}

fn outgoing(
    message: &Claimed,
    facts: Facts,
    to: String,
    content: providers::model::Content,
) -> Outgoing {
    let to = match &content {
        providers::model::Content::Webhook(webhook) => webhook.url.clone(),
        _ => to,
    };
    Outgoing {
        id: message.id,
        workspace: message.workspace,
        user: message.user,
        external_id: facts.recipient.external_id,
        campaign: message.campaign,
        variant: message.variant.clone(),
        to,
        devices: facts.devices,
        content,
    }
}

pub(super) fn count_skip(reason: SkipReason) {
    metrics_catalogue::DELIVERY_REFUSALS.with([reason.code()]).increment(1);
}

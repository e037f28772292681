//! The channels for which this process has a provider, and those of other processes. A process only claims messages
//! of its own channels.

use std::time::Duration;

use campaigns::{
    model::message::MessageChannel,
    ops::{EnabledChannels, record_enabled_channels},
};
use kernel::{Result, Timestamp};

use crate::{
    DeliveryState,
    model::message::{CHANNELS, channel_name},
};

/// How often a process announces its channels.
const ANNOUNCE_EVERY: Duration = Duration::from_mins(1);

/// Announces this process' channels to the other processes.
#[derive(Debug, Default)]
pub(crate) struct ChannelAnnouncements(Option<Timestamp>);

impl ChannelAnnouncements {
    /// Announces them, if the interval is over.
    pub(crate) async fn announce_if_due(&mut self, app: &DeliveryState) -> Result<()> {
        let now = app.clock().now();
        if self.0.is_some_and(|at| at <= now && now < at.after(ANNOUNCE_EVERY)) {
            return Ok(());
        }
        record_enabled_channels(app, &own(app), self.0.is_none()).await?;
        self.0 = Some(now);
        Ok(())
    }
}

/// The channels of this process.
fn own(app: &DeliveryState) -> Vec<&'static str> {
    let enabled = CHANNELS.into_iter().filter(|channel| app.providers().has(*channel));
    enabled.map(channel_name).collect()
}

/// The processes that have the channels of a campaign.
pub(crate) enum ChannelAvailability {
    /// All are in this process.
    Here,
    /// These are in this process, the others in other processes.
    Partly(Vec<&'static str>),
    /// All are in other processes.
    Elsewhere,
    /// One is in no process, for this reason.
    Nowhere(String),
}

/// The processes that have these channels.
pub(crate) async fn of(
    app: &DeliveryState,
    channels: &[MessageChannel],
) -> Result<ChannelAvailability> {
    let names = |enabled: bool| {
        let found = channels.iter().filter(|channel| app.providers().has(**channel) == enabled);
        found.map(|channel| channel_name(*channel)).collect::<Vec<_>>()
    };
    let lacking = names(false);
    if lacking.is_empty() {
        return Ok(ChannelAvailability::Here);
    }
    let enabled = EnabledChannels::read(app).await?;
    if let Some(fault) = lacking.iter().find_map(|channel| enabled.fault(channel)) {
        return Ok(ChannelAvailability::Nowhere(fault));
    }
    let mine = names(true);
    Ok(if mine.is_empty() {
        ChannelAvailability::Elsewhere
    } else {
        ChannelAvailability::Partly(mine)
    })
}

/// The channels of which this process claims messages of no campaign: its own, and those that no process has, whose
/// messages fail.
pub(crate) async fn of_outbox(app: &DeliveryState) -> Result<Vec<&'static str>> {
    let own = own(app);
    if own.len() == CHANNELS.len() {
        return Ok(own);
    }
    let enabled = EnabledChannels::read(app).await?;
    let names = CHANNELS.into_iter().map(channel_name);
    Ok(names.filter(|name| own.contains(name) || !enabled.has(name)).collect())
}

/// A channel, and what there is to send with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedChannel {
    /// The channel of messages.
    pub channel: MessageChannel,
    /// The name of its provider in the settings of this process; none where only others have one.
    pub provider: Option<&'static str>,
    /// Why messages cannot be sent; none where some process has a provider.
    pub problem: Option<String>,
}

/// All channels of messages.
///
/// # Errors
/// When the store is unavailable.
pub async fn list(app: &DeliveryState) -> Result<Vec<ListedChannel>> {
    let enabled = EnabledChannels::read(app).await?;
    let listed = |channel| {
        let provider = app.providers().name_of(channel);
        let elsewhere = || enabled.fault(channel_name(channel));
        ListedChannel { channel, provider, problem: provider.map_or_else(elsewhere, |_| None) }
    };
    Ok(CHANNELS.into_iter().map(listed).collect())
}

/// Whether any process has the channel.
pub(crate) async fn is_enabled(app: &DeliveryState, channel: MessageChannel) -> Result<bool> {
    Ok(app.providers().has(channel) || EnabledChannels::read(app).await?.has(channel_name(channel)))
}

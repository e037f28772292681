//! Which channels this process carries, and which are carried by others. A process takes up only what it has a
//! provider for.

use campaigns::{
    model::message::MessageChannel,
    ops::{EnabledChannels, record_enabled_channels},
};
use kernel::{Result, Timestamp};

use crate::{
    DeliveryState,
    model::message::{CHANNELS, channel_name},
};

/// Milliseconds between two notes of a process that it carries its channels.
const NOTE_EVERY_MS: i64 = 60_000;

/// Tells other processes which channels this one carries.
#[derive(Debug, Default)]
pub(crate) struct ChannelAnnouncements(Option<Timestamp>);

impl ChannelAnnouncements {
    /// Tells them if it is time.
    pub(crate) async fn announce_if_due(&mut self, app: &DeliveryState) -> Result<()> {
        let now = app.clock().now();
        if self.0.is_some_and(|at| (0..NOTE_EVERY_MS).contains(&(now.millis() - at.millis()))) {
            return Ok(());
        }
        record_enabled_channels(app, &here(app), self.0.is_none()).await?;
        self.0 = Some(now);
        Ok(())
    }
}

/// The channels that this process carries.
fn here(app: &DeliveryState) -> Vec<&'static str> {
    let carried = CHANNELS.into_iter().filter(|channel| app.providers().has(*channel));
    carried.map(channel_name).collect()
}

/// Who carries the channels of a campaign.
pub(crate) enum Carried {
    /// This process, all of them.
    Here,
    /// This process only these; other processes the others.
    Partly(Vec<&'static str>),
    /// Other processes, all of them.
    Elsewhere,
    /// No process carries one of them, for this reason.
    Nowhere(String),
}

/// Who carries these channels.
pub(crate) async fn of(app: &DeliveryState, channels: &[MessageChannel]) -> Result<Carried> {
    let names = |carried: bool| {
        let found = channels.iter().filter(|channel| app.providers().has(**channel) == carried);
        found.map(|channel| channel_name(*channel)).collect::<Vec<_>>()
    };
    let lacking = names(false);
    if lacking.is_empty() {
        return Ok(Carried::Here);
    }
    let carried = EnabledChannels::read(app).await?;
    if let Some(fault) = lacking.iter().find_map(|channel| carried.fault(channel)) {
        return Ok(Carried::Nowhere(fault));
    }
    let mine = names(true);
    Ok(if mine.is_empty() { Carried::Elsewhere } else { Carried::Partly(mine) })
}

/// The channels of which this process takes up messages that belong to no campaign: those it carries, and those that
/// no process carries, whose messages fail.
pub(crate) async fn of_outbox(app: &DeliveryState) -> Result<Vec<&'static str>> {
    let here = here(app);
    if here.len() == CHANNELS.len() {
        return Ok(here);
    }
    let carried = EnabledChannels::read(app).await?;
    let names = CHANNELS.into_iter().map(channel_name);
    Ok(names.filter(|name| here.contains(name) || !carried.has(name)).collect())
}

/// Whether this process carries a channel, or another does.
pub(crate) async fn is_carried(app: &DeliveryState, channel: MessageChannel) -> Result<bool> {
    Ok(app.providers().has(channel) || EnabledChannels::read(app).await?.has(channel_name(channel)))
}

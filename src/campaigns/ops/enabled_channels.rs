//! Channels for which some process of this service has a provider. Messages on a channel without one for ten
//! minutes fail, and at once if there never was one.

use std::{collections::HashMap, time::Duration};

use kernel::{Channel, ChannelSet, Result, Timestamp};

use crate::{CampaignState, store};

/// Time after the last record of any process during which a channel still counts as enabled.
const SILENCE_MAX: Duration = Duration::from_mins(10);

/// The channels that any process has enabled.
#[derive(Debug)]
pub struct EnabledChannels {
    last: HashMap<String, Timestamp>,
    now: Timestamp,
}

impl EnabledChannels {
    /// Reads them. If all processes were stopped for longer, every channel counts as enabled from now on.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn read(app: &CampaignState) -> Result<Self> {
        let now = app.clock().now();
        let read = Self { last: store::enabled_channels(app.db()).await?, now };
        if read.last.is_empty() || read.last.values().any(|at| read.is_recent(*at)) {
            return Ok(read);
        }
        renew(app, now).await?;
        Ok(Self { last: store::enabled_channels(app.db()).await?, now })
    }

    fn is_recent(&self, at: Timestamp) -> bool {
        self.now.duration_since(at) < SILENCE_MAX
    }

    /// Whether some process has enabled a channel.
    pub fn has(&self, channel: &str) -> bool {
        self.last.get(channel).is_some_and(|at| self.is_recent(*at))
    }

    /// Why messages on a channel cannot be sent, if no process has enabled it.
    pub fn fault(&self, channel: &str) -> Option<String> {
        let never = format!("no provider is set for channel {channel}");
        match self.last.get(channel) {
            None => Some(never),
            Some(at) if self.is_recent(*at) => None,
            Some(_) => {
                let minutes = SILENCE_MAX.as_secs() / 60;
                Some(format!("{never}: no process has had it enabled for {minutes} minutes"))
            }
        }
    }
}

async fn renew(app: &CampaignState, now: Timestamp) -> Result<()> {
    let since = now.before(SILENCE_MAX);
    store::renew_enabled_channels(app.db(), since, now).await
}

/// The channels enabled in this process or in another.
pub(super) async fn anywhere(app: &CampaignState) -> Result<ChannelSet> {
    let is_here = |channel: &Channel| app.enabled_channels().contains(*channel);
    if Channel::ALL.iter().all(is_here) {
        return Ok(app.enabled_channels());
    }
    let enabled = EnabledChannels::read(app).await?;
    let is_enabled = |channel: &Channel| is_here(channel) || enabled.has(channel.as_str());
    Ok(Channel::ALL.into_iter().filter(is_enabled).collect())
}

/// Records that this process has enabled these channels; `is_first` at its start.
///
/// # Errors
/// If the store fails.
pub async fn record_enabled_channels(
    app: &CampaignState,
    channels: &[&str],
    is_first: bool,
) -> Result<()> {
    let now = app.clock().now();
    if is_first {
        renew(app, now).await?;
    }
    store::record_enabled_channels(app.db(), channels, now).await
}

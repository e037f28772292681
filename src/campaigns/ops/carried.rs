//! Which channels the processes of this service carry. What no process has carried for ten minutes fails, and at once
//! where none ever did.

use std::collections::HashMap;

use kernel::{Channel, ChannelSet, Result, Timestamp};

use crate::{CampaignState, store};

/// Milliseconds after the last note of any process in which a channel is still taken for carried.
const SILENT_MAX_MS: i64 = 10 * 60_000;

/// The channels that any process carries.
#[derive(Debug)]
pub struct Carried {
    last: HashMap<String, Timestamp>,
    now: Timestamp,
}

impl Carried {
    /// Reads them. After all processes were stopped for longer, each channel has its time anew.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn read(app: &CampaignState) -> Result<Self> {
        let now = app.clock().now();
        let read = Self { last: store::carried(app.db()).await?, now };
        if read.last.is_empty() || read.last.values().any(|at| read.is_recent(*at)) {
            return Ok(read);
        }
        resume(app, now).await?;
        Ok(Self { last: store::carried(app.db()).await?, now })
    }

    fn is_recent(&self, at: Timestamp) -> bool {
        self.now.millis() - at.millis() < SILENT_MAX_MS
    }

    /// Whether some process carries a channel.
    pub fn has(&self, channel: &str) -> bool {
        self.last.get(channel).is_some_and(|at| self.is_recent(*at))
    }

    /// Why messages on a channel cannot be sent, where no process carries it.
    pub fn fault(&self, channel: &str) -> Option<String> {
        let never = format!("no provider is set for channel {channel}");
        match self.last.get(channel) {
            None => Some(never),
            Some(at) if self.is_recent(*at) => None,
            Some(_) => {
                let minutes = SILENT_MAX_MS / 60_000;
                Some(format!("{never}: no process has carried it for {minutes} minutes"))
            }
        }
    }
}

async fn resume(app: &CampaignState, now: Timestamp) -> Result<()> {
    let since = Timestamp::from_millis(now.millis() - SILENT_MAX_MS);
    store::resume_carried(app.db(), (since, now)).await
}

/// The channels that this process carries, or another does.
pub(super) async fn anywhere(app: &CampaignState) -> Result<ChannelSet> {
    let is_here = |channel: &Channel| app.enabled_channels().contains(*channel);
    if Channel::ALL.iter().all(is_here) {
        return Ok(app.enabled_channels());
    }
    let carried = Carried::read(app).await?;
    let is_carried = |channel: &Channel| is_here(channel) || carried.has(channel.as_str());
    Ok(Channel::ALL.into_iter().filter(is_carried).collect())
}

/// Notes that this process carries these channels now; `is_first` where it begins.
///
/// # Errors
/// When the store fails.
pub async fn note_carried(app: &CampaignState, channels: &[&str], is_first: bool) -> Result<()> {
    let now = app.clock().now();
    if is_first {
        resume(app, now).await?;
    }
    store::note_carried(app.db(), channels, now).await
}

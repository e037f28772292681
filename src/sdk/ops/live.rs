//! A cache of each workspace's live in-app campaigns. It is refreshed every second and reloads only campaigns
//! that changed.

use std::{collections::HashMap, sync::Arc, time::Duration};

use campaigns::model::{Campaign, settings::channel_config::ChannelConfig};
use delivery::{
    model::plan::Plan,
    render::{InApp, RenderFault},
};
use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use parking_lot::Mutex;

use crate::SdkState;

/// Live campaigns of a workspace that are considered; those with the lowest priority are left out.
pub(super) const CAMPAIGNS_MAX: u32 = 200;
const AGE_MAX: Duration = Duration::from_secs(1);
/// Cached workspaces; beyond that, stale entries are evicted.
const WORKSPACES_MAX: usize = 1000;

/// A live campaign with parsed templates.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) campaign: Campaign,
    pub(super) plan: Plan,
    /// By variant; only variants with content.
    contents: HashMap<String, Result<InApp, RenderFault>>,
}

impl Ready {
    fn of(campaign: Campaign) -> Self {
        let begins = campaign.state.started_at.unwrap_or(campaign.created_at);
        let shown = campaign.definition.variants.iter().filter(|variant| !variant.is_control());
        let contents = shown.filter_map(|variant| {
            let content = variant.custom_content.as_ref()?;
            Some((variant.id.clone(), InApp::read(content)))
        });
        Self { contents: contents.collect(), plan: Plan::of(&campaign, begins), campaign }
    }

    pub(super) fn config(&self) -> ChannelConfig {
        self.campaign.definition.channel_config.as_deref().cloned().unwrap_or_default()
    }

    pub(super) fn content(&self, variant: &str) -> Option<&Result<InApp, RenderFault>> {
        self.contents.get(variant)
    }
}

/// The live in-app campaigns of each workspace. Clones share the cache.
#[derive(Debug, Clone, Default)]
pub struct LiveCampaigns(Arc<Mutex<HashMap<WorkspaceId, Read>>>);

#[derive(Debug, Clone)]
struct Read {
    at: Timestamp,
    campaigns: Arc<[Arc<Ready>]>,
}

impl Read {
    fn is_good(&self, now: Timestamp) -> bool {
        now >= self.at && now.duration_since(self.at) < AGE_MAX
    }
}

impl LiveCampaigns {
    /// The campaigns of a workspace in the order of display.
    pub(super) async fn of(
        &self,
        app: &SdkState,
        workspace: WorkspaceId,
    ) -> Result<Arc<[Arc<Ready>]>> {
        let now = app.clock().now();
        let known = self.0.lock().get(&workspace).cloned();
        if let Some(read) = known.as_ref().filter(|read| read.is_good(now)) {
            return Ok(Arc::clone(&read.campaigns));
        }
        let known = known.map(|read| read.campaigns).unwrap_or_default();
        let campaigns = read(app, workspace, &known).await?;
        let mut all = self.0.lock();
        if all.len() >= WORKSPACES_MAX && !all.contains_key(&workspace) {
            all.retain(|_, read| read.is_good(now));
        }
        if all.len() < WORKSPACES_MAX || all.contains_key(&workspace) {
            all.insert(workspace, Read { at: now, campaigns: Arc::clone(&campaigns) });
        }
        Ok(campaigns)
    }
}

async fn read(
    app: &SdkState,
    workspace: WorkspaceId,
    known: &[Arc<Ready>],
) -> Result<Arc<[Arc<Ready>]>> {
    let order = campaigns::ops::live_in_app(app.db(), workspace, CAMPAIGNS_MAX).await?;
    let mut ready: HashMap<CampaignId, Arc<Ready>> = HashMap::new();
    let mut others = Vec::new();
    for (id, revision) in &order {
        let same =
            known.iter().find(|it| it.campaign.id == *id && it.campaign.revision == *revision);
        match same {
            Some(same) => drop(ready.insert(*id, Arc::clone(same))),
            None => others.push(*id),
        }
    }
    if !others.is_empty() {
        let found = campaigns::ops::find_all(app.db(), workspace, &others).await?;
        // Parsing templates would block the executor's threads.
        let read: Vec<Ready> =
            tokio::task::spawn_blocking(move || found.into_iter().map(Ready::of).collect())
                .await
                .map_err(anyhow::Error::from)?;
        ready.extend(read.into_iter().map(|it| (it.campaign.id, Arc::new(it))));
    }
    Ok(order.iter().filter_map(|(id, _)| ready.remove(id)).collect())
}

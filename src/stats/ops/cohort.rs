//! The messages that a report covers.

use analytics::messages::{Cohort, Count, Span};
use campaigns::model::Campaign;
use kernel::{CampaignId, Result, WorkspaceId};
use web::{Services, http::DateRange};

/// A campaign, and the period of a report.
#[derive(Debug, Clone)]
pub struct ReportScope {
    pub workspace: WorkspaceId,
    pub campaign: Campaign,
    /// When the messages were sent.
    pub range: DateRange,
    variants: Vec<String>,
}

impl ReportScope {
    pub fn new(workspace: WorkspaceId, campaign: Campaign, range: DateRange) -> Self {
        let variants = campaign.definition.variants.iter().map(|it| it.id.clone()).collect();
        Self { workspace, campaign, range, variants }
    }

    /// The scope for the campaign with this id.
    ///
    /// # Errors
    /// Not found.
    pub async fn find(
        app: &Services,
        workspace: WorkspaceId,
        id: CampaignId,
        range: DateRange,
    ) -> Result<Self> {
        let campaign = campaigns::ops::find(app, workspace, id).await?;
        Ok(Self::new(workspace, campaign, range))
    }

    /// The ids of its variants; queries refer to them by number, from 1.
    pub fn variants(&self) -> &[String] {
        &self.variants
    }

    /// The id of a variant by its number.
    pub fn variant(&self, place: u8) -> Option<&str> {
        self.variants.get(usize::from(place).checked_sub(1)?).map(String::as_str)
    }

    /// The number of the control group's variant.
    pub fn control(&self) -> Option<u8> {
        let place = self
            .campaign
            .definition
            .variants
            .iter()
            .position(campaigns::model::Variant::is_control)?;
        u8::try_from(place + 1).ok()
    }

    /// The messages as a filter for ClickHouse.
    pub(super) fn cohort(&self) -> Cohort<'_> {
        Cohort {
            workspace: self.workspace.uuid(),
            campaign: self.campaign.id.uuid(),
            variants: &self.variants,
            start_ms: self.range.start.map(kernel::Timestamp::millis),
            end_ms: self.range.end.map(kernel::Timestamp::millis),
        }
    }

    /// Counts of messages by progress.
    pub(super) async fn counts(&self, app: &Services) -> Result<Vec<Count>> {
        Ok(analytics::messages::counts(app.analytics(), &self.cohort()).await?)
    }

    /// When the messages of each occurrence were sent, or would have been for the control group.
    pub(super) async fn spans(&self, app: &Services) -> Result<Vec<Span>> {
        Ok(analytics::messages::spans(app.analytics(), &self.cohort()).await?)
    }
}

//! The messages that a report covers.

use std::collections::BTreeSet;

use analytics::messages::{Cohort, Count, PeopleSums, Span, TrialFilter, people_sums};
use campaigns::model::{
    Campaign,
    settings::conversion::AttributionModel,
    trial::{Phase, Trial},
};
use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use tokio::sync::OnceCell;
use web::{Services, http::DateRange};

/// A campaign, and the period of a report.
#[derive(Debug, Clone)]
pub struct ReportScope {
    pub workspace: WorkspaceId,
    pub campaign: Campaign,
    /// When the messages were sent.
    pub range: DateRange,
    variants: Vec<String>,
    /// Asked for once: the parts of a report each need them, and should agree.
    spans: OnceCell<Vec<Span>>,
}

impl ReportScope {
    pub fn new(workspace: WorkspaceId, campaign: Campaign, range: DateRange) -> Self {
        let variants = campaign.definition.variants.iter().map(|it| it.id.clone()).collect();
        Self { workspace, campaign, range, variants, spans: OnceCell::new() }
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

    /// The same, with conversions and revenue credited by this model in the stead of the campaign's.
    #[must_use]
    pub fn credited_by(mut self, model: AttributionModel) -> Self {
        if let Some(tracking) = &mut self.campaign.definition.conversion_tracking {
            tracking.attribution_model = Some(model);
        }
        self
    }

    /// From when on the report is complete, where messages of its range, or events it counts, are not kept any longer.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn complete_from(&self, app: &Services) -> Result<Option<Timestamp>> {
        let (state, created) = (&self.campaign.state, self.campaign.created_at);
        let began = state.started_at.unwrap_or(created);
        let start = self.range.start.map_or(began, |start| start.max(began));
        let counts_events = self.campaign.definition.conversion_tracking.is_some();
        app.messages_complete_from(self.workspace, start.millis(), counts_events).await
    }

    /// The ids of its variants; queries refer to them by number, from 1.
    pub fn variants(&self) -> &[String] {
        &self.variants
    }

    /// The seed of random draws: equal data have equal results.
    pub fn seed(&self) -> u64 {
        self.campaign.id.uuid().as_u64_pair().1
    }

    /// The seed of random draws of the variant at an index.
    pub(super) fn variant_seed(&self, at: usize) -> u64 {
        self.seed() ^ at as u64
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
        self.cohort_of(None)
    }

    /// Those of an A/B test or of its roll-out.
    pub(super) fn cohort_of(&self, trial: Option<TrialFilter>) -> Cohort<'_> {
        Cohort {
            workspace: self.workspace.uuid(),
            campaign: self.campaign.id.uuid(),
            variants: &self.variants,
            start_ms: self.range.start.map(Timestamp::millis),
            end_ms: self.range.end.map(Timestamp::millis),
            trial,
        }
    }

    /// The messages of the campaign's A/B test; none if it has none, or if it is not known when the test ended.
    pub(super) fn trial(&self) -> Option<TrialFilter> {
        let trial = Trial::of(&self.campaign)?;
        let concluded_ms = trial.verdict.as_ref().map(|verdict| verdict.at.millis());
        let is_known = match trial.phase {
            Phase::None => false,
            Phase::Testing => true,
            Phase::WinnerSent | Phase::Inconclusive => concluded_ms.is_some(),
        };
        is_known.then(|| TrialFilter {
            after_occurrence: u32::try_from(trial.after_occurrence).unwrap_or(0),
            concluded_ms,
            is_trial: true,
        })
    }

    /// The people of each variant of these messages, of which there are `counts`.
    pub(super) async fn people(
        app: &Services,
        cohort: &Cohort<'_>,
        counts: &[Count],
    ) -> Result<Vec<PeopleSums>> {
        let occurrences: BTreeSet<u32> = counts.iter().map(|count| count.occurrence).collect();
        if occurrences.len() <= 1 {
            // A person has one message in each occurrence.
            return Ok(counts.iter().map(one_message_each).collect());
        }
        Ok(people_sums(app.analytics(), cohort).await?)
    }

    /// Counts of messages by progress.
    pub(super) async fn counts(&self, app: &Services) -> Result<Vec<Count>> {
        Ok(analytics::messages::counts(app.analytics(), &self.cohort()).await?)
    }

    /// When the messages of each occurrence were sent, or would have been for the control group.
    pub(super) async fn spans(&self, app: &Services) -> Result<&[Span]> {
        let cohort = self.cohort();
        let ask = || analytics::messages::spans(app.analytics(), &cohort);
        Ok(self.spans.get_or_try_init(ask).await?)
    }
}

/// The people of a count in which each has one message.
fn one_message_each(count: &Count) -> PeopleSums {
    let (messages, opened, clicked) = (count.sent_not_bounced, count.opened, count.clicked);
    PeopleSums {
        variant: count.variant,
        assigned: count.sent + count.failed + count.skipped + count.cancelled,
        sent: count.sent,
        control: count.control,
        reached: messages,
        messages,
        messages_squared: messages,
        opened,
        opened_squared: opened,
        opened_messages: opened,
        clicked,
        clicked_squared: clicked,
        clicked_messages: clicked,
    }
}

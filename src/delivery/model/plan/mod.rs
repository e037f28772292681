//! The plan of a run: which recipient gets which variant, and when.
//!
//! A plain campaign assigns each recipient a variant at once, by a stable hash. An A/B test does so for the recipients in
//! the test, while the others wait for the winner. A bandit draws a variant when the message is sent. Send-time
//! optimisation gives each recipient a time. Each profile keeps its first variant in later runs, unless the variant was
//! deleted or a winner was found.

mod hours;
mod learner;
mod split;

#[cfg(test)]
mod tests;

pub use self::{
    hours::{HOLDOUT_PERCENT, Hours},
    learner::{Learner, WAVES, is_behind},
    split::{BUCKETS, Split, bucket, hashed, salted},
};
use std::time::Duration;

use campaigns::model::{
    Campaign, CampaignKind, SendType,
    learning::Learning,
    settings::resend::ResendPolicy,
    trial::{Phase, Trial},
    variant::Variant,
};
use kernel::{CampaignId, Timestamp, UserId, zone::Zone};

use crate::model::skip::SkipReason;

const HOUR: Duration = Duration::from_hours(1);
/// A message that waits for the end of a trial is checked again after this time.
const RECHECK_AFTER: Duration = Duration::from_secs(15);
/// Buckets of one percent.
const BUCKETS_PER_PERCENT: f64 = 100.0;
/// The salt of the sample of a trial.
const TRIAL_SALT: &str = "test";

/// A recipient, as the plan needs it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    pub user: UserId,
    /// The first variant that was assigned.
    pub exposure: Option<&'a str>,
    /// The time zone; by default the workspace's. Used only with [`Plan::wants_hours`].
    pub zone: Zone,
    /// The local hour of most engagement, where it is known. Used only with [`Plan::wants_hours`].
    pub best_hour: Option<u8>,
}

/// The plan for one recipient when the audience is materialised.
#[derive(Debug, Clone, PartialEq)]
pub enum Placement<'p> {
    /// Nothing is sent at this time: the recipient is in the control group.
    Control(&'p Variant, Timestamp),
    /// A message of this variant at this time; without a variant, it is drawn when the message is sent.
    Send(Option<&'p Variant>, Timestamp),
    /// Nothing is sent, because of this rule.
    Skip(SkipReason),
}

/// The draw for a message without a variant when it is due.
#[derive(Debug, Clone, PartialEq)]
pub enum Draw<'p> {
    Variant(&'p Variant),
    /// Nothing is sent: the recipient is in the control group.
    Control(&'p Variant),
    /// The draw is repeated at this time.
    Wait(Timestamp),
    /// Nothing is sent, because of this rule.
    Skip(SkipReason),
}

/// Which profiles a further run of a campaign leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    NoProfile,
    /// Profiles that received a message of the campaign since this time, or ever.
    SentSince(Option<Timestamp>),
}

/// How an audience is divided. Cheap enough to be built for every batch, so that a winner, new weights and learnt rates
/// take effect at once.
#[derive(Debug, Clone)]
pub struct Plan {
    campaign: CampaignId,
    variants: Vec<Variant>,
    split: Split,
    begins: Timestamp,
    trial: Option<RunningTrial>,
    learner: Option<Learner>,
    hours: Option<Hours>,
    left_out: LeftOut,
}

/// The state of an A/B test, as recipients see it.
#[derive(Debug, Clone, PartialEq)]
enum RunningTrial {
    /// The sample gets its variants; the others wait at least until `ends`.
    Testing { buckets: f64, ends: Timestamp },
    /// All recipients get this variant.
    Won(String),
    /// No further recipient gets a message.
    Stopped,
}

impl Plan {
    /// The plan of a run that began at `begins`.
    pub fn of(campaign: &Campaign, begins: Timestamp) -> Self {
        let definition = &campaign.definition;
        Self {
            campaign: campaign.id,
            variants: definition.variants.clone(),
            split: Split::of(&definition.variants),
            begins,
            trial: RunningTrial::of(campaign, begins),
            learner: Learning::of(campaign)
                .map(|learning| Learner::of(campaign.id, learning, definition.kind())),
            hours: (definition.send_type == SendType::Intelligent)
                .then(|| Hours::of(campaign.id, definition.sto_config.clone().unwrap_or_default())),
            left_out: left_out(campaign, begins),
        }
    }

    /// Whether [`Candidate::zone`] and [`Candidate::best_hour`] are used.
    pub const fn wants_hours(&self) -> bool {
        self.hours.is_some()
    }

    /// Sets the hour of most engagement in the workspace, where it is known.
    pub fn set_popular_hour(&mut self, hour: Option<u8>) {
        if let Some(hours) = &mut self.hours {
            hours.popular = hour;
        }
    }

    /// Whether a learning campaign is sent in waves.
    pub fn has_waves(&self) -> bool {
        self.learner.as_ref().is_some_and(Learner::has_waves)
    }

    /// Sets the time between two waves.
    pub const fn set_wave_gap(&mut self, gap: Duration) {
        if let Some(learner) = &mut self.learner {
            learner.set_wave_gap(gap);
        }
    }

    /// Which profiles the run leaves out because of an earlier one.
    pub const fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// The variant with this id.
    pub fn variant(&self, id: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.id == id)
    }

    /// Places one recipient of the audience.
    pub fn place(&self, who: &Candidate<'_>) -> Placement<'_> {
        let Some(own) = self.own(who.user, who.exposure) else {
            return Placement::Send(None, self.begins);
        };
        let placement = self.place_treated(who, own);
        if !own.is_control() {
            return placement;
        }
        // Reports compare both sides over the same time.
        match placement {
            Placement::Send(_, due) => Placement::Control(own, due),
            Placement::Control(..) | Placement::Skip(_) => Placement::Control(own, self.begins),
        }
    }

    /// Places a recipient as if none were held back.
    fn place_treated<'p>(&'p self, who: &Candidate<'_>, own: &'p Variant) -> Placement<'p> {
        let moment = |begins| self.hours.as_ref().map_or(begins, |hours| hours.moment(who, begins));
        if let Some(learner) = &self.learner {
            return Placement::Send(None, moment(learner.wave(who.user, self.begins)));
        }
        match &self.trial {
            None => Placement::Send(Some(own), moment(self.begins)),
            Some(RunningTrial::Testing { buckets, ends }) => {
                if self.is_in_trial(who.user, *buckets) {
                    Placement::Send(
                        Some(self.split_of(who.user).unwrap_or(own)),
                        moment(self.begins),
                    )
                } else {
                    Placement::Send(None, moment(*ends))
                }
            }
            Some(RunningTrial::Won(winner)) => {
                Placement::Send(Some(self.variant(winner).unwrap_or(own)), moment(self.begins))
            }
            Some(RunningTrial::Stopped) => Placement::Skip(SkipReason::AbInconclusive),
        }
    }

    /// The variant of the control group, if there is one.
    pub fn control(&self) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.is_control())
    }

    /// Draws the variant of a message; none if the campaign has no variants.
    pub fn draw(&self, user: UserId, exposure: Option<&str>, now: Timestamp) -> Option<Draw<'_>> {
        let own = self.own(user, exposure)?;
        if own.is_control() {
            return Some(Draw::Control(own));
        }
        if let Some(learner) = &self.learner {
            if let Some(until) = learner.waits(now) {
                return Some(Draw::Wait(until));
            }
            let drawn = learner.draw(user, now);
            return Some(Draw::Variant(self.variant(drawn).unwrap_or(own)));
        }
        Some(match &self.trial {
            None => Draw::Variant(own),
            Some(RunningTrial::Testing { buckets, .. }) if self.is_in_trial(user, *buckets) => {
                Draw::Variant(self.split_of(user).unwrap_or(own))
            }
            Some(RunningTrial::Testing { .. }) => Draw::Wait(now.after(RECHECK_AFTER)),
            Some(RunningTrial::Won(winner)) => Draw::Variant(self.variant(winner).unwrap_or(own)),
            Some(RunningTrial::Stopped) => Draw::Skip(SkipReason::AbInconclusive),
        })
    }

    /// A profile's variant without regard to trials and learning.
    pub fn lot(&self, user: UserId, exposure: Option<&str>) -> Option<&Variant> {
        self.own(user, exposure)
    }

    /// A profile's first variant while it exists; else the variant of its bucket.
    fn own(&self, user: UserId, exposure: Option<&str>) -> Option<&Variant> {
        exposure.and_then(|id| self.variant(id)).or_else(|| self.split_of(user))
    }

    fn split_of(&self, user: UserId) -> Option<&Variant> {
        let at = self.split.at(bucket(self.campaign, user))?;
        self.variants.get(at)
    }

    #[expect(clippy::cast_precision_loss, reason = "below ten thousand")]
    fn is_in_trial(&self, user: UserId, buckets: f64) -> bool {
        (salted(self.campaign, user, TRIAL_SALT) as f64) < buckets
    }
}

impl RunningTrial {
    fn of(campaign: &Campaign, begins: Timestamp) -> Option<Self> {
        let trial = Trial::of(campaign)?;
        let config = campaign.definition.ab_test_config.as_ref()?;
        if let Some(winner) = trial.winner_variant_id {
            return Some(Self::Won(winner));
        }
        if trial.phase == Phase::Inconclusive {
            return Some(Self::Stopped);
        }
        let began = trial.began_at.unwrap_or(begins);
        Some(Self::Testing {
            buckets: config.test_percentage() * BUCKETS_PER_PERCENT,
            ends: began.after(HOUR.saturating_mul(config.test_duration_hours())),
        })
    }
}

/// By `resendPolicy`, which applies to further runs of one-time campaigns. Other kinds have rules of their own.
fn left_out(campaign: &Campaign, begins: Timestamp) -> LeftOut {
    let definition = &campaign.definition;
    if definition.kind() != CampaignKind::OneTime || campaign.state.occurrence <= 1 {
        return LeftOut::NoProfile;
    }
    match definition.resend_policy {
        ResendPolicy::Everyone => LeftOut::NoProfile,
        ResendPolicy::OnlyNew => LeftOut::SentSince(None),
        ResendPolicy::Cooldown => {
            let hours = definition.resend_cooldown_days.unwrap_or(0).saturating_mul(24);
            LeftOut::SentSince(Some(begins.before(HOUR.saturating_mul(hours))))
        }
    }
}

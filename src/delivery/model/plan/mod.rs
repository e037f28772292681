//! Who of an audience gets which variant, and when: what a run places its recipients by.
//!
//! A plain campaign gives everyone a variant at once, by a hash that never changes. A trial of variants does
//! so for those who are in it and lets the others wait for its winner; learning draws a variant when the
//! message leaves, by what is known then; optimised times are each recipient's own. Whoever was once given
//! a variant keeps it on later occurrences, unless it is gone or a winner was found.

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
use campaigns::model::{
    Campaign, CampaignKind, SendType,
    learning::Learning,
    settings::resend::ResendPolicy,
    trial::{Phase, Trial},
    variant::Variant,
};
use kernel::{CampaignId, Timestamp, UserId, zone::Zone};

use crate::model::skip::SkipReason;

/// Milliseconds of an hour.
const HOUR_MS: i64 = 3_600_000;
/// Milliseconds of a day.
const DAY_MS: i64 = 24 * HOUR_MS;
/// How long somebody waits before it is asked again whether a trial has ended.
const ASK_AGAIN_MS: i64 = 15_000;
/// Buckets of one percent.
const BUCKETS_PER_PERCENT: f64 = 100.0;
/// The salt that says who is in a trial.
const TRIAL_SALT: &str = "test";

/// One of an audience, as far as a plan asks.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    pub user: UserId,
    /// The variant they were first given.
    pub exposure: Option<&'a str>,
    /// Their clocks; the workspace's where they named none. Asked for by [`Plan::wants_hours`] alone.
    pub zone: Zone,
    /// The hour of their day at which they look, where it is known. Likewise.
    pub best_hour: Option<u8>,
}

/// What becomes of one of an audience when it is written down.
#[derive(Debug, Clone, PartialEq)]
pub enum Placement<'p> {
    /// Nothing is sent to them, to measure the others by.
    Control(&'p Variant),
    /// A message of this variant at this moment; without one it is drawn when it leaves.
    Send(Option<&'p Variant>, Timestamp),
    /// Nothing is sent to them, by this rule.
    Skip(SkipReason),
}

/// What a message without a variant turns out to be when its moment has come.
#[derive(Debug, Clone, PartialEq)]
pub enum Draw<'p> {
    Variant(&'p Variant),
    /// Nothing, to measure the others by.
    Control(&'p Variant),
    /// It has to be asked again then.
    Wait(Timestamp),
    /// Nothing, by this rule.
    Skip(SkipReason),
}

/// Whom a campaign that is sent again leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    Nobody,
    /// Those to whom a message of it was sent since then; ever, without a moment.
    SentSince(Option<Timestamp>),
}

/// How a campaign, or an occurrence of it, is divided. Cheap enough to be made for every batch, which is
/// how a winner, new weights and what was learnt take hold.
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

/// A trial, as far as a recipient is concerned.
#[derive(Debug, Clone, PartialEq)]
enum RunningTrial {
    /// Some try the variants, until then at least; the others wait.
    Testing { buckets: f64, ends: Timestamp },
    /// This one goes to all.
    Won(String),
    /// Nobody else gets anything.
    Stopped,
}

impl Plan {
    /// How a campaign is divided whose occurrence began then.
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

    /// Whether [`Candidate::zone`] and [`Candidate::best_hour`] matter.
    pub const fn wants_hours(&self) -> bool {
        self.hours.is_some()
    }

    /// The hour at which most look, where it is known.
    pub fn set_popular_hour(&mut self, hour: Option<u8>) {
        if let Some(hours) = &mut self.hours {
            hours.popular = hour;
        }
    }

    /// Whom an occurrence leaves out because they had an earlier one.
    pub const fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// The variant with this id.
    pub fn variant(&self, id: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.id == id)
    }

    /// What becomes of one of the audience.
    pub fn place(&self, who: &Candidate<'_>) -> Placement<'_> {
        let Some(own) = self.own(who.user, who.exposure) else {
            return Placement::Send(None, self.begins);
        };
        if own.is_control() {
            return Placement::Control(own);
        }
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

    /// What a message without a variant turns out to be; none where the campaign has no variants.
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
            Some(RunningTrial::Testing { .. }) => {
                Draw::Wait(Timestamp::from_millis(now.millis().saturating_add(ASK_AGAIN_MS)))
            }
            Some(RunningTrial::Won(winner)) => Draw::Variant(self.variant(winner).unwrap_or(own)),
            Some(RunningTrial::Stopped) => Draw::Skip(SkipReason::AbInconclusive),
        })
    }

    /// The variant that is somebody's by lot, whatever trials and learning make of it.
    pub fn lot(&self, user: UserId, exposure: Option<&str>) -> Option<&Variant> {
        self.own(user, exposure)
    }

    /// The variant somebody was first given, while it is there; else the one of their bucket.
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
        let began = trial.began_at.unwrap_or(begins).millis();
        let ends = began.saturating_add(i64::from(config.test_duration_hours()) * HOUR_MS);
        Some(Self::Testing {
            buckets: config.test_percentage() * BUCKETS_PER_PERCENT,
            ends: Timestamp::from_millis(ends),
        })
    }
}

/// By `resendPolicy`, which is about one-time campaigns that are sent again. The other kinds send again
/// by their own rules.
fn left_out(campaign: &Campaign, begins: Timestamp) -> LeftOut {
    let definition = &campaign.definition;
    if definition.kind() != CampaignKind::OneTime || campaign.state.occurrence <= 1 {
        return LeftOut::Nobody;
    }
    match definition.resend_policy {
        ResendPolicy::Everyone => LeftOut::Nobody,
        ResendPolicy::OnlyNew => LeftOut::SentSince(None),
        ResendPolicy::Cooldown => {
            let days = i64::from(definition.resend_cooldown_days.unwrap_or(0));
            LeftOut::SentSince(Some(Timestamp::from_millis(begins.millis() - days * DAY_MS)))
        }
    }
}

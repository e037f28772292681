//! Send-time optimisation: each recipient gets the message at their local hour of most engagement.

use campaigns::model::settings::sto::{StoConfig, StoFallback};
use chrono::{Days, NaiveTime, Timelike as _};
use kernel::{CampaignId, Timestamp, zone::Zone};

use super::{
    Candidate, HOUR,
    split::{BUCKETS, salted},
};

/// The share of recipients with a random hour of the window, to measure the gain of the optimisation.
pub const HOLDOUT_PERCENT: u64 = 10;
/// Minutes between two moments within an hour.
const STEP_MINUTES: u64 = 5;
/// Moments within an hour.
const STEPS: u64 = 60 / STEP_MINUTES;
/// Hours of a day.
const HOURS: u64 = 24;
/// The salts of the holdout, of its hours, and of the minutes.
const SALTS: [&str; 3] = ["sto", "sto-hour", "sto-minute"];

#[derive(Debug, Clone)]
pub struct Hours {
    campaign: CampaignId,
    config: StoConfig,
    /// The hour of most engagement in the workspace, where it is known.
    pub(super) popular: Option<u8>,
}

impl Hours {
    pub const fn of(campaign: CampaignId, config: StoConfig) -> Self {
        Self { campaign, config, popular: None }
    }

    #[cfg(test)]
    pub(super) const fn campaign(&self) -> CampaignId {
        self.campaign
    }

    /// The send time of a recipient, not before `begins`.
    pub(super) fn moment(&self, who: &Candidate<'_>, begins: Timestamp) -> Timestamp {
        let [held_out, hour_salt, minute_salt] =
            SALTS.map(|salt| salted(self.campaign, who.user, salt));
        let minute = minute_salt % STEPS * STEP_MINUTES;
        let first = u64::from(who.zone.clock_at(begins).hour());
        let window = u64::from(self.config.window_hours());
        let hour = if held_out < BUCKETS / 100 * HOLDOUT_PERCENT {
            (first + hour_salt % window.min(HOURS)) % HOURS
        } else if let Some(best) = who.best_hour {
            u64::from(best)
        } else {
            let fallback = self.config.fallback_time().time();
            return match (self.config.fallback(), self.popular) {
                (StoFallback::ScheduledTime, _) => begins,
                (StoFallback::PopularHour, Some(hour)) => {
                    self.at(who.zone, begins, clock(u64::from(hour), minute))
                }
                (StoFallback::PopularHour, None) => self.at(who.zone, begins, fallback),
            };
        };
        self.at(who.zone, begins, clock(hour, minute))
    }

    /// The first time from `begins` on at which the local time is `time`. A time less than an hour before `begins` counts as
    /// `begins`; a time beyond the window becomes its end.
    fn at(&self, zone: Zone, begins: Timestamp, time: NaiveTime) -> Timestamp {
        let day = zone.clock_at(begins).date();
        let today = zone.moments_of(day.and_time(time)).chosen();
        let ends = begins.after(HOUR.saturating_mul(self.config.window_hours()));
        let at = if today >= begins {
            today
        } else if begins.duration_since(today) < HOUR {
            begins
        } else {
            let tomorrow = day.checked_add_days(Days::new(1)).unwrap_or(day);
            zone.moments_of(tomorrow.and_time(time)).chosen()
        };
        at.clamp(begins, ends)
    }
}

fn clock(hour: u64, minute: u64) -> NaiveTime {
    let part = |number: u64| u32::try_from(number).unwrap_or(0);
    NaiveTime::from_hms_opt(part(hour), part(minute), 0).unwrap_or_default()
}

//! The hours of the local day at which profiles engage, for send-time optimisation (STO).

use kernel::{Timestamp, time::DAY, zone::Zone};

/// Hours of a day.
pub const HOURS: usize = 24;
/// Days after which a visit counts half.
const HALF_LIFE_DAYS: f64 = 30.0;
/// Weight of the audience's hours (the prior), in visits of one profile.
const PRIOR_WEIGHT: f64 = 2.0;
/// Smoothing weights of the hour before a visit, its own, and the hour after.
const KERNEL: [f64; 3] = [0.25, 0.5, 0.25];

/// Visits by hour of the visitor's local day, weighted down exponentially by age.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EngagementHours([f64; HOURS]);

impl EngagementHours {
    pub fn add(&mut self, visit: Timestamp, zone: Zone, now: Timestamp) {
        use chrono::Timelike as _;
        let days = now.duration_since(visit).div_duration_f64(DAY);
        let hour = zone.clock_at(visit).hour();
        self.0[usize::try_from(hour).unwrap_or(0) % HOURS] += (-days / HALF_LIFE_DAYS).exp2();
    }

    /// Counts the visits of another.
    pub fn add_all(&mut self, other: &Self) {
        for (own, more) in self.0.iter_mut().zip(other.0) {
            *own += more;
        }
    }

    fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// The hour with the most visits, of equals the earliest; none where there are none.
    pub fn busiest(&self) -> Option<u8> {
        let most = self.0.iter().copied().fold(0.0, f64::max);
        let hour = self.0.iter().position(|visits| *visits >= most && most > 0.0)?;
        u8::try_from(hour).ok()
    }

    /// The hour at which engagement is most likely: own visits, smoothed over the neighbouring hours, plus the
    /// audience's hours (`prior`) with the weight of two visits. The candidates are the hours of a window of
    /// `hours` hours that begins with `first`; ties go to the earliest in the window.
    pub fn best_hour(&self, prior: &Self, first: u8, hours: u32) -> u8 {
        let all = prior.total().max(f64::MIN_POSITIVE);
        let score = |hour: usize| {
            let near = |offset: usize| self.0[(hour + HOURS + offset - 1) % HOURS];
            let smooth: f64 = KERNEL.iter().enumerate().map(|(at, part)| part * near(at)).sum();
            (smooth + PRIOR_WEIGHT * prior.0[hour] / all) / (self.total() + PRIOR_WEIGHT)
        };
        let window = usize::try_from(hours).unwrap_or(HOURS).clamp(1, HOURS);
        let candidates = (0..window).map(|offset| (usize::from(first) + offset) % HOURS);
        let mut best = (usize::from(first) % HOURS, f64::MIN);
        for hour in candidates {
            if score(hour) > best.1 {
                best = (hour, score(hour));
            }
        }
        u8::try_from(best.0).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_780_000_000_000);

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn of(visits: &[&str], zone: &str) -> EngagementHours {
        let mut hours = EngagementHours::default();
        for visit in visits {
            hours.add(at(visit), zone.parse().unwrap(), at("2026-07-10T00:00:00Z"));
        }
        hours
    }

    #[test]
    fn visits_count_in_the_local_time_of_the_visitor() {
        let visits = ["2026-07-01T12:30:00Z", "2026-07-02T12:10:00Z"];
        assert_eq!(of(&visits, "UTC").busiest(), Some(12));
        assert_eq!(of(&visits, "America/New_York").busiest(), Some(8));
        // 12:30 is 18:00 there; 12:10, of a later day, counts more and is 17:40.
        assert_eq!(of(&visits, "Asia/Kolkata").busiest(), Some(17));
        // In winter New York is an hour farther off.
        assert_eq!(of(&["2026-01-05T12:30:00Z"], "America/New_York").busiest(), Some(7));
        assert_eq!(EngagementHours::default().busiest(), None);
    }

    #[test]
    fn old_visits_count_less() {
        let mut hours = EngagementHours::default();
        hours.add(Timestamp::from_millis(NOW.millis() - 30 * 86_400_000), Zone::UTC, NOW);
        assert!((hours.total() - 0.5).abs() < 1e-12);
        // A visit in the future counts like one of now.
        hours.add(Timestamp::from_millis(NOW.millis() + 86_400_000), Zone::UTC, NOW);
        assert!((hours.total() - 1.5).abs() < 1e-12);
    }

    #[test]
    fn the_best_hour_follows_own_visits_within_the_window() {
        let own =
            of(&["2026-07-01T20:00:00Z", "2026-07-02T20:30:00Z", "2026-07-03T07:00:00Z"], "UTC");
        let none = EngagementHours::default();
        assert_eq!(own.best_hour(&none, 0, 24), 20);
        // Only the morning is in the window.
        assert_eq!(own.best_hour(&none, 0, 12), 7);
        // The window continues after midnight.
        assert_eq!(own.best_hour(&none, 22, 12), 7);
        // Without any data: the beginning of the window.
        assert_eq!(none.best_hour(&none, 9, 24), 9);
        assert_eq!(own.best_hour(&none, 9, 1), 9);
    }

    #[test]
    fn the_audience_decides_when_own_visits_are_too_few() {
        let all =
            of(&["2026-07-01T18:00:00Z", "2026-07-02T18:00:00Z", "2026-07-02T09:00:00Z"], "UTC");
        assert_eq!(EngagementHours::default().best_hour(&all, 0, 24), 18);
        let own = of(&["2026-07-01T09:00:00Z"], "UTC");
        // One visit at nine does not outweigh an audience that mostly comes at six: 0.5 × 0.8 + 2 × ⅓ against
        // 2 × ⅔.
        assert_eq!(own.best_hour(&all, 0, 24), 18);
        let own =
            of(&["2026-07-01T09:00:00Z", "2026-07-02T09:00:00Z", "2026-07-03T09:00:00Z"], "UTC");
        assert_eq!(own.best_hour(&all, 0, 24), 9);
    }
}

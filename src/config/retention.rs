//! `[retention]`: after how many days records are deleted.

use serde::Deserialize;

/// Fewest days of retention: idempotency keys of transactional messages are valid for thirty, the longest
/// frequency cap is as long.
const DAYS_MIN: u32 = 31;
/// Most days of data, a century.
const DATA_DAYS_MAX: u32 = 36_500;

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retention {
    /// Minutes between two runs of the deletion.
    pub every_minutes: u32,
    /// Days a completed message stays in PostgreSQL; 0: for ever.
    pub messages_days: u32,
    /// Days an entry into a triggered campaign stays, except a person's latest; 0: for ever.
    pub campaign_entries_days: u32,
    /// Days an entry of a campaign's history stays; 0: for ever.
    pub campaign_history_days: u32,
    /// Days an event stays in workspaces without a number of their own; 0: for ever.
    pub events_days: u32,
    /// Likewise what happened to messages.
    pub message_events_days: u32,
    /// Likewise a deleted profile.
    pub deleted_profiles_days: u32,
}

impl Retention {
    /// The first invalid value: the key and the reason.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        if self.every_minutes == 0 {
            return Some(("retention.every_minutes", "must be at least 1".to_owned()));
        }
        let days = [
            ("retention.messages_days", self.messages_days),
            ("retention.campaign_entries_days", self.campaign_entries_days),
            ("retention.campaign_history_days", self.campaign_history_days),
        ];
        if let Some((key, _)) = days.into_iter().find(|(_, days)| (1..DAYS_MIN).contains(days)) {
            return Some((key, format!("must be 0 or at least {DAYS_MIN}")));
        }
        let data = [
            ("retention.events_days", self.events_days),
            ("retention.message_events_days", self.message_events_days),
            ("retention.deleted_profiles_days", self.deleted_profiles_days),
        ];
        let (key, _) = data.into_iter().find(|(_, days)| *days > DATA_DAYS_MAX)?;
        Some((key, format!("must be at most {DATA_DAYS_MAX}; 0 is for ever")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_none_or_enough() {
        let all = |days: u32| Retention {
            every_minutes: 1,
            messages_days: days,
            campaign_entries_days: days,
            campaign_history_days: days,
            events_days: 0,
            message_events_days: 0,
            deleted_profiles_days: 0,
        };
        for (days, is_fit) in [(0, true), (1, false), (30, false), (31, true), (400, true)] {
            assert_eq!(all(days).fault().is_none(), is_fit, "{days}");
        }
        let never = Retention { every_minutes: 0, ..all(0) };
        assert_eq!(never.fault().unwrap().0, "retention.every_minutes");
        let endless = Retention { events_days: 36_501, ..all(0) };
        assert_eq!(endless.fault().unwrap().0, "retention.events_days");
        assert!(Retention { events_days: 1, ..all(0) }.fault().is_none());
        let history = Retention { campaign_history_days: 30, ..all(0) };
        assert_eq!(
            history.fault().unwrap(),
            ("retention.campaign_history_days", "must be 0 or at least 31".to_owned())
        );
    }
}

//! `[delivery]` and `[transactional]`: sending, frequency caps and quiet hours.

use std::collections::BTreeMap;

use kernel::{
    quiet::{QuietBehavior, QuietTimeOverride, QuietZone},
    time_of_day::TimeOfDay,
};
use serde::Deserialize;

/// Hours a frequency cap may look back: thirty days.
pub const CAP_HOURS_MAX: u32 = 720;
/// Shortest lease in seconds: sending a batch takes some.
const LEASE_SECONDS_MIN: u32 = 2;
/// The key of the cap over all channels together.
pub const ANY_CHANNEL: &str = "any";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// Minutes after its scheduled time at which a campaign is no longer sent.
    pub max_lateness_minutes: u32,
    /// Seconds after which another sender takes over the messages of one that stopped.
    pub lease_seconds: u32,
    /// Frequency caps by channel or `any`.
    #[serde(default)]
    pub caps: BTreeMap<String, Cap>,
    /// Quiet hours of campaigns without their own.
    pub quiet_hours: Option<QuietHours>,
}

/// Most messages that a profile gets within a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cap {
    #[serde(deserialize_with = "number")]
    pub max: u32,
    /// The length of the sliding window.
    #[serde(deserialize_with = "number")]
    pub hours: u32,
}

/// A number, or the text of one from an environment variable.
fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Sent {
        Number(u32),
        Text(String),
    }
    match Sent::deserialize(deserializer)? {
        Sent::Number(number) => Ok(number),
        Sent::Text(text) => text.parse().map_err(serde::de::Error::custom),
    }
}

/// `[delivery.quiet_hours]`, with the values of a campaign's `quietTimeOverride`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuietHours {
    /// The first quiet minute.
    pub start: TimeOfDay,
    /// The first minute after the quiet hours.
    pub end: TimeOfDay,
    /// `recipient` or an IANA zone.
    #[serde(default)]
    pub timezone: Option<QuietZone>,
    #[serde(default)]
    pub behavior: Option<QuietBehavior>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transactional {
    /// Whether email and push are sent to recipients who unsubscribed; other suppressions stay.
    pub bypass_unsubscribe: bool,
}

impl QuietHours {
    /// As a campaign's `quietTimeOverride`.
    pub fn as_override(&self) -> QuietTimeOverride {
        QuietTimeOverride {
            enabled: None,
            start: Some(self.start),
            end: Some(self.end),
            timezone: self.timezone,
            behavior: self.behavior,
        }
    }
}

impl Delivery {
    /// The first invalid value: the key and the reason.
    pub(super) fn fault(&self) -> Option<(String, String)> {
        if self.lease_seconds < LEASE_SECONDS_MIN {
            let reason = format!("must be at least {LEASE_SECONDS_MIN}");
            return Some(("delivery.lease_seconds".to_owned(), reason));
        }
        if self.quiet_hours.as_ref().is_some_and(|quiet| quiet.start == quiet.end) {
            let reason = "must differ from `start`".to_owned();
            return Some(("delivery.quiet_hours.end".to_owned(), reason));
        }
        self.caps.iter().find_map(|(channel, cap)| {
            let known = ["any", "email", "sms", "whatsapp", "push", "viber", "webhook"];
            let key = |name: &str| format!("delivery.caps.{channel}{name}");
            if !known.contains(&channel.as_str()) {
                return Some((key(""), format!("is no channel: one of {}", known.join(", "))));
            }
            if cap.max == 0 {
                return Some((key(".max"), "must be at least 1".to_owned()));
            }
            (!(1..=CAP_HOURS_MAX).contains(&cap.hours))
                .then(|| (key(".hours"), format!("must be 1 to {CAP_HOURS_MAX}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(toml: &str) -> Result<Delivery, toml::de::Error> {
        toml::from_str(&format!("max_lateness_minutes = 1440\n{toml}"))
    }

    #[test]
    fn each_limit_holds_at_its_boundary() {
        let table = [
            ("lease_seconds = 2", None),
            ("lease_seconds = 1", Some("delivery.lease_seconds must be at least 2")),
            ("lease_seconds = 60\n[caps.email]\nmax = 1\nhours = 720", None),
            ("lease_seconds = 60\n[caps.email]\nmax = \"1\"\nhours = \"24\"", None),
            (
                "lease_seconds = 60\n[caps.email]\nmax = 1\nhours = 721",
                Some("delivery.caps.email.hours must be 1 to 720"),
            ),
            (
                "lease_seconds = 60\n[caps.any]\nmax = 0\nhours = 1",
                Some("delivery.caps.any.max must be at least 1"),
            ),
            (
                "lease_seconds = 60\n[caps.fax]\nmax = 1\nhours = 1",
                Some(
                    "delivery.caps.fax is no channel: one of any, email, sms, whatsapp, push, viber, webhook",
                ),
            ),
            (
                "lease_seconds = 60\n[quiet_hours]\nstart = \"22:00\"\nend = \"22:00\"",
                Some("delivery.quiet_hours.end must differ from `start`"),
            ),
        ];
        for (toml, expected) in table {
            let fault = delivery(toml).unwrap().fault();
            let found = fault.map(|(key, reason)| format!("{key} {reason}"));
            assert_eq!(found.as_deref(), expected, "{toml}");
        }
    }

    #[test]
    fn quiet_hours_are_those_of_a_campaign() {
        let toml = "lease_seconds = 60\n[quiet_hours]\nstart = \"21:00\"\nend = \"07:30\"\ntimezone = \"Europe/Berlin\"\nbehavior = \"skip\"";
        let quiet = delivery(toml).unwrap().quiet_hours.unwrap().as_override();
        assert!(quiet.is_enabled());
        assert_eq!((quiet.start(), quiet.end()), (TimeOfDay::at(21, 0), TimeOfDay::at(7, 30)));
        assert_eq!(quiet.zone(), QuietZone::Fixed("Europe/Berlin".parse().unwrap()));
        assert_eq!(quiet.behavior(), QuietBehavior::Skip);
        assert!(
            delivery("lease_seconds = 60\n[quiet_hours]\nstart = \"25:00\"\nend = \"1:00\"")
                .is_err()
        );
    }
}

//! Numbered campaigns, varied in channel, tags, what makes them go out and how far they have come.

use serde_json::{Value, json};

use super::dice::Dice;
use crate::clock;

/// Tags campaigns have up to three of.
const TAGS: [&str; 12] = [
    "vip",
    "newsletter",
    "eu",
    "us",
    "spring",
    "summer",
    "autumn",
    "winter",
    "onboarding",
    "winback",
    "sale",
    "product",
];
/// What campaigns are about.
const TOPICS: [&str; 10] = [
    "Welcome",
    "Spring Sale",
    "Abandoned Cart",
    "Birthday",
    "Loyalty",
    "Price Drop",
    "Back in Stock",
    "Survey",
    "Webinar",
    "Year in Review",
];
/// How far away the times of scheduled campaigns are, days.
const SCHEDULED_DAYS: u64 = 365;
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// Makes campaigns by their number; the same seed makes the same ones.
#[derive(Clone, Copy, Debug)]
pub struct Campaigns {
    /// Decides all that varies.
    pub seed: u64,
    /// Characters of an email's HTML.
    pub html_chars: usize,
}

/// A campaign to be made, and what is then done to it.
#[derive(Debug)]
pub struct NewCampaign {
    /// The body of `POST /campaigns`.
    pub body: Value,
    /// The calls that bring it where it is to be (`send`, `pause`, `archive` …).
    pub calls: &'static [&'static str],
}

impl Campaigns {
    /// The campaign of a number.
    pub fn campaign(&self, number: u64) -> NewCampaign {
        let mut dice = Dice::new(self.seed ^ number.wrapping_mul(0x9E37_79B9));
        let (channel, message) = self.channel(&mut dice);
        let mut body = json!({
            "name": format!("{} {number}", dice.pick(&TOPICS)),
            "description": format!("Number {number} for {}", dice.pick(&TAGS)),
            "channel": channel,
            "tags": (0..dice.below(4)).map(|_| dice.pick(&TAGS)).collect::<Vec<_>>(),
            "variants": [{"id": "a", "name": "A", "weight": 100}],
        });
        let part = if channel == "in_app" { "customContent" } else { "message" };
        body["variants"][0][part] = message;
        // Of a hundred: 35 drafts, 15 scheduled, 30 live, 10 paused, 5 cancelled, 5 archived.
        let calls: &[&str] = match dice.below(100) {
            0..35 => &[],
            35..50 => {
                let days = i64::try_from(1 + dice.below(SCHEDULED_DAYS)).unwrap_or(1);
                body["sendType"] = "scheduled".into();
                body["scheduledAt"] = clock::rfc3339(clock::now_ms() + days * DAY_MS).into();
                &[]
            }
            rest => {
                body["sendType"] = "triggered".into();
                body["triggerConfig"] = json!({"type": "event", "eventName": "Order Completed"});
                match rest {
                    50..80 => &["send"],
                    80..90 => &["send", "pause"],
                    90..95 => &["send", "cancel"],
                    _ => &["archive"],
                }
            }
        };
        NewCampaign { body, calls }
    }

    fn channel(&self, dice: &mut Dice) -> (&'static str, Value) {
        match dice.below(10) {
            0..5 => {
                let filler = "<p>Hello {{ user.firstName }}, there is more of what you like.</p>";
                let html = filler.repeat(self.html_chars.div_ceil(filler.len()));
                let end = r#"<a href="{{ unsubscribe_url }}">Unsubscribe</a>"#;
                ("email", json!({"subject": "News for you", "html": html + end}))
            }
            5..7 => ("sms", json!({"body": "Hello {{ user.firstName }}"})),
            7..9 => ("push", json!({"title": "Hello", "body": "There is news"})),
            _ => ("in_app", json!({"mode": "native", "title": "Hello", "body": "There is news"})),
        }
    }
}

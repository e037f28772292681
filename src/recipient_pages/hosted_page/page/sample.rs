//! A sample contact for previews.

use kernel::{Channel, ListId, UserId};
use serde_json::json;

use super::Filled;
use crate::hosted_page::model::{Choices, Contact, ListChoice, State};

/// The target of a preview's form.
const NOWHERE: &str = "#";

impl Filled {
    pub(in crate::hosted_page) fn sample() -> Self {
        let attributes = json!({
            "firstName": "Ann", "lastName": "Example", "language": "en", "country": "GB",
            "timezone": "Europe/London",
        });
        let contact = Contact {
            id: UserId::from_bytes([0; 12]),
            external_id: Some("sample-1".to_owned()),
            email: Some("ann@example.com".to_owned()),
            phone: Some("+44 20 7946 0018".to_owned()),
            attributes: attributes.as_object().cloned().unwrap_or_default(),
        };
        let list =
            |number, name: &str, description: &str, channels: &[(Channel, State)]| ListChoice {
                id: ListId::new(uuid::Uuid::from_u128(number)),
                name: name.to_owned(),
                description: description.to_owned(),
                channels: channels.to_vec(),
            };
        let lists = vec![
            list(1, "News", "What is new, once a week", &[(Channel::Email, State::On)]),
            list(
                2,
                "Offers",
                "Sales, and early access to them",
                &[(Channel::Email, State::On), (Channel::Sms, State::Off)],
            ),
        ];
        let channels = vec![(Channel::Email, true), (Channel::Sms, true)];
        let workspace = "Your company".to_owned();
        let choices = Choices { workspace, contact, channels, closed: Vec::new(), lists };
        Self { choices, saved: false, action: NOWHERE }
    }
}

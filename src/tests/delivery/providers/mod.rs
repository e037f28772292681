//! Each provider against a server that checks each request and answers as the test wants.

mod apns;
mod dkim;
mod fcm;
mod gateway;
mod infobip;
mod push;
mod simulator;
mod smtp;
mod twilio;
mod web_push;
mod webhook;
mod whatsapp;

use std::{collections::BTreeMap, sync::Arc};

use campaigns::model::message::MessageChannel;
use config::{Environment, Flags, Settings};
use engines::vault::Vault;
use kernel::{Clock, MessageId, Timestamp, WorkspaceId};
use providers::{
    Provider, Providers, Registry,
    model::{Content, EmailContent, Outcome, Outgoing},
};
use uuid::Uuid;

/// The workspace whose messages are sent.
pub(crate) const WORKSPACE: WorkspaceId = WorkspaceId::new(Uuid::from_u128(9));
/// Seconds until a provider counts as silent: more than a busy machine takes to answer.
pub(crate) const TIMEOUT_SECONDS: &str = "10";
/// When they are sent: 2026-03-01T12:00:00Z.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_772_366_400_000);

/// The vault of these tests.
pub(crate) fn vault() -> Vault {
    Vault::new("a master key of thirty-two bytes".into())
}

/// Settings of these variables, as an operator gives them.
pub(crate) fn settings(variables: &[(&str, &str)]) -> Settings {
    let variables: BTreeMap<_, _> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let environment = Environment { variables, folder: "/nonexistent".into() };
    Settings::from_sources(&Flags::default(), &environment, &Registry).unwrap()
}

/// The provider that the settings make of a channel.
pub(crate) fn provider_of(
    variables: &[(&str, &str)],
    channel: MessageChannel,
) -> Arc<dyn Provider> {
    let clock = Clock::fixed(NOW).0;
    let providers = Providers::from_settings(&settings(variables), vault(), clock).unwrap();
    providers.of(channel).unwrap()
}

pub(crate) fn message(to: &str, content: Content) -> Outgoing {
    Outgoing {
        id: MessageId::mint(NOW),
        workspace: WORKSPACE,
        user: None,
        external_id: None,
        campaign: None,
        variant: None,
        to: to.to_owned(),
        devices: Vec::new(),
        content,
    }
}

pub(crate) fn email(to: &str) -> Outgoing {
    let content = EmailContent {
        subject: "Grüße".to_owned(),
        html: Some("<p>Hällo</p>".to_owned()),
        text: Some("Hello\r\n.\r\n..dots\r\n".to_owned()),
        ..EmailContent::default()
    };
    message(to, Content::Email(content))
}

/// What becomes of one message.
pub(crate) async fn send(provider: &dyn Provider, message: Outgoing) -> Outcome {
    let mut sent = provider.send(std::slice::from_ref(&message)).await;
    assert_eq!(sent.len(), 1);
    sent.remove(0).outcome
}

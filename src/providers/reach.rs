//! What can be found out about channels without sending a message.

use config::Settings;
use kernel::{Channel, Clock};

use crate::{
    ProviderDeps,
    registry::{self, ProviderSetup},
    settings::Host,
};

/// A channel that has a provider.
#[derive(Debug)]
pub struct ChannelReport {
    pub channel: Channel,
    /// Why its provider cannot be set up: keys and files that cannot be read.
    pub fault: Option<String>,
    /// The hosts that its messages are sent to; none where each recipient brings one.
    pub hosts: Vec<Host>,
}

/// Sets up the provider of each channel, and connects to none.
///
/// # Errors
/// If the settings that all channels share cannot be used.
pub fn channel_reports(settings: &Settings, clock: Clock) -> anyhow::Result<Vec<ChannelReport>> {
    let deps = ProviderDeps::from_settings(settings, clock)?;
    let channels = registry::read_channels(&settings.channels)?;
    Ok(channels
        .into_iter()
        .map(|(channel, ProviderSetup { settings, .. })| ChannelReport {
            channel,
            fault: settings.provider(channel, &deps).err().map(|error| format!("{error:#}")),
            hosts: settings.hosts(),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use config::{Environment, Flags};

    use super::*;
    use crate::Registry;

    fn reports(values: &[(&'static str, &str)]) -> Vec<ChannelReport> {
        let values = values.iter().map(|(key, value)| ("--set", *key, (*value).to_owned()));
        let flags = Flags { config: None, values: values.collect() };
        let folder = tempfile::tempdir().unwrap();
        let environment =
            Environment { folder: folder.path().to_owned(), ..Environment::default() };
        let settings = Settings::from_sources(&flags, &environment, &Registry).unwrap();
        channel_reports(&settings, Clock::system()).unwrap()
    }

    #[test]
    fn each_channel_names_its_hosts_without_credentials() {
        let cases = [
            ("channels.email.url", "smtp://mail.example.test", "mail.example.test:25"),
            ("channels.email.url", "smtp://u:p@mail.example.test", "mail.example.test:587"),
            ("channels.email.url", "smtps://u:p@[2001:db8::1]", "2001:db8::1:465"),
            ("channels.sms.url", "http://u:p@gateway.test/sms", "gateway.test:80"),
            ("channels.viber.url", "https://gateway.test:8443/v", "gateway.test:8443"),
        ];
        for (key, url, expected) in cases {
            let found = reports(&[(key, url)]);
            let hosts: Vec<String> =
                found[0].hosts.iter().map(|it| format!("{}:{}", it.name, it.port)).collect();
            assert_eq!(hosts, [expected], "{url}");
            assert_eq!(found[0].fault, None, "{url}");
        }
    }

    #[test]
    fn a_key_that_cannot_be_read_is_a_fault_of_its_channel() {
        let found = reports(&[
            ("channels.sms.url", "http://gateway.test/sms"),
            ("channels.push.provider", "native"),
            ("channels.push.web_push.vapid_key_file", "/no/such/file"),
            ("channels.push.web_push.subject", "mailto:ops@example.test"),
        ]);
        let of = |channel| found.iter().find(|it| it.channel == channel).unwrap();
        assert_eq!(of(Channel::Sms).fault, None);
        let push = of(Channel::Push);
        assert!(push.fault.as_ref().is_some_and(|it| it.contains("/no/such/file")), "{push:?}");
        assert_eq!(push.hosts, [], "each subscription names its own");
    }
}

//! The domains that the email channel sends from, by its settings.

use campaigns::model::message::address_of;
use config::Settings;
use kernel::Channel;
use sender_domains::model::SenderSetup;

use crate::{registry, settings::EmailSender};

/// The domains, the DKIM key and the return path that the settings name.
///
/// # Errors
/// If the settings of the channel cannot be read, or name no key that signs.
pub fn sender_setup(settings: &Settings) -> anyhow::Result<SenderSetup> {
    let mut domains = settings.channels.from_domains()?;
    let channels = registry::read_channels(&settings.channels)?;
    let email = channels.iter().find(|(channel, _)| *channel == Channel::Email);
    let sender = email.map(|(_, setup)| setup.settings.email_sender()).transpose()?;
    let EmailSender { from, dkim, is_return_path } = sender.unwrap_or_default();
    let own = from.as_deref().and_then(address_of).map(|address| address.domain().to_owned());
    domains.extend(own.clone());
    Ok(SenderSetup { domains, dkim, spf_include: own.filter(|_| is_return_path) })
}

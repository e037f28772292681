//! What the settings of the email channel say of the domains that it sends from.

use campaigns::model::message::address_of;
use config::{ProviderConfig, Settings};
use kernel::Channel;
use sender_domains::model::SenderSetup;

use super::smtp::Smtp;

/// The domains, the key and the way of bounces that the settings name.
///
/// # Errors
/// When the settings of the channel cannot be read, or name no key that signs.
pub fn sender_setup(settings: &Settings) -> anyhow::Result<SenderSetup> {
    let mut domains = settings.channels.from_domains()?;
    let carriers = settings.channels.providers()?;
    let email = carriers.iter().find(|(channel, _)| *channel == Channel::Email);
    let from = match email {
        Some((_, ProviderConfig::Smtp(smtp))) => smtp.from.as_deref(),
        Some((_, ProviderConfig::Http(gateway))) => gateway.from.as_deref(),
        _ => None,
    };
    let own = from.and_then(address_of).map(|address| address.domain().to_owned());
    domains.extend(own.clone());
    let mut setup = SenderSetup { domains, ..SenderSetup::default() };
    if let Some((_, ProviderConfig::Smtp(smtp))) = email {
        setup.dkim = Smtp::dkim_key(smtp)?;
        // With a domain for bounces, receivers ask that one who may send.
        setup.spf_include = own.filter(|_| smtp.bounce_domain.is_none());
    }
    Ok(setup)
}

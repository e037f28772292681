//! `[channels.*]`: the provider of each channel.
//!
//! The keys of a channel depend on its provider, so its table is kept as TOML until all sources are merged,
//! and then read as the provider's settings ([`Channels::providers`]): unknown and missing keys are refused
//! by name.

mod gateway;
mod infobip;
mod native;
mod smtp;
mod text;
mod twilio;
mod whatsapp;

use std::fmt;

use kernel::{Channel, ChannelSet};
use secrecy::SecretString;
use serde::Deserialize;
use toml::{Table, Value};

use super::Error;

pub use self::{
    gateway::Gateway,
    infobip::Infobip,
    native::{Apns, Fcm, Native, WebPush},
    smtp::{Dkim, Smtp},
    twilio::Twilio,
    whatsapp::Whatsapp,
};

/// The key of [`Channels::from_domains`].
const FROM_DOMAINS: &str = "from_domains";

/// A channel without a provider accepts campaigns and fails their sends.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    email: Option<Given>,
    sms: Option<Given>,
    whatsapp: Option<Given>,
    push: Option<Given>,
    viber: Option<Given>,
}

/// A channel's table as it was given.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
struct Given(Table);

impl fmt::Debug for Given {
    /// Values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The settings of a provider.
#[derive(Debug, Clone)]
pub enum ProviderConfig {
    /// `smtp`: a mail server.
    Smtp(Smtp),
    /// `http`: the generic gateway.
    Http(Gateway),
    /// `twilio`: Twilio, or a service with the same API.
    Twilio(Twilio),
    /// `whatsapp`: Meta's Cloud API.
    Whatsapp(Whatsapp),
    Infobip(Infobip),
    /// `native`: the push services of the platforms.
    Native(Native),
}

impl Channels {
    /// The channels that have a provider.
    pub fn set(&self) -> ChannelSet {
        Channel::ALL.into_iter().filter(|channel| self.given(*channel).is_some()).collect()
    }

    /// The provider of every channel that has one.
    ///
    /// # Errors
    /// The first channel with invalid settings.
    pub fn providers(&self) -> Result<Vec<(Channel, ProviderConfig)>, Error> {
        let given = |channel| Some((channel, self.given(channel)?));
        Channel::ALL
            .into_iter()
            .filter_map(given)
            .map(|(channel, given)| match ProviderConfig::read(channel, given.0.clone()) {
                Ok(provider) => Ok((channel, provider)),
                Err(reason) => Err(Error::Refused {
                    source_name: format!("channels.{channel}"),
                    reason: super::one_line(&reason),
                }),
            })
            .collect()
    }

    /// The domains that email may be sent from besides that of the channel's `from`, in ASCII and lower case.
    ///
    /// # Errors
    /// If one is not a domain.
    pub fn from_domains(&self) -> Result<Vec<String>, Error> {
        let refused = |reason: String| Error::Refused {
            source_name: "channels.email.from_domains".to_owned(),
            reason,
        };
        let given = self.email.as_ref().and_then(|given| given.0.get(FROM_DOMAINS));
        let texts: Vec<&str> = match given {
            None => Vec::new(),
            // An environment variable holds them as one text.
            Some(Value::String(text)) => {
                text.split(',').map(str::trim).filter(|text| !text.is_empty()).collect()
            }
            Some(Value::Array(values)) => {
                let texts: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
                texts.ok_or_else(|| refused("must be a list of domains".to_owned()))?
            }
            Some(_) => return Err(refused("must be a list of domains".to_owned())),
        };
        let read = |text: &str| match idna::domain_to_ascii_strict(text) {
            Ok(domain) if !domain.is_empty() => Ok(domain),
            _ => Err(refused(format!("`{text}` is not a domain"))),
        };
        texts.into_iter().map(read).collect()
    }

    fn given(&self, channel: Channel) -> Option<&Given> {
        match channel {
            Channel::Email => self.email.as_ref(),
            Channel::Sms => self.sms.as_ref(),
            Channel::Whatsapp => self.whatsapp.as_ref(),
            Channel::Push => self.push.as_ref(),
            Channel::Viber => self.viber.as_ref(),
        }
    }
}

impl ProviderConfig {
    /// Reads a channel's table as its provider's settings.
    fn read(channel: Channel, mut table: Table) -> Result<Self, String> {
        if channel == Channel::Email {
            // Belongs to email with any provider: read by [`Channels::from_domains`].
            table.remove(FROM_DOMAINS);
        }
        let name = match table.remove("provider") {
            Some(Value::String(name)) => name,
            Some(_) => return Err("`provider` must be a string".to_owned()),
            None => Self::by_address(&table)?.to_owned(),
        };
        match (channel, name.as_str()) {
            (Channel::Email, "smtp") => read(table).map(Self::Smtp),
            (_, "http") => read(table).map(Self::Http),
            (Channel::Sms, "twilio") => read(table).map(Self::Twilio),
            (Channel::Whatsapp, "whatsapp") => read(table).map(Self::Whatsapp),
            (Channel::Viber, "infobip") => read(table).map(Self::Infobip),
            (Channel::Push, "native") => read(table).map(Self::Native),
            _ => {
                let known = Self::known(channel).join(", ");
                Err(format!("unknown provider `{name}`, expected one of {known}"))
            }
        }
    }

    /// The providers of a channel.
    const fn known(channel: Channel) -> &'static [&'static str] {
        match channel {
            Channel::Email => &["smtp", "http"],
            Channel::Sms => &["twilio", "http"],
            Channel::Whatsapp => &["whatsapp", "http"],
            Channel::Push => &["native", "http"],
            Channel::Viber => &["infobip", "http"],
        }
    }

    /// The provider implied by the URL if none is named.
    fn by_address(table: &Table) -> Result<&'static str, String> {
        let scheme = table.get("url").and_then(Value::as_str).and_then(|url| url.split(':').next());
        match scheme {
            Some("smtp" | "smtps") => Ok("smtp"),
            Some("http" | "https") => Ok("http"),
            _ => Err("missing field `provider`".to_owned()),
        }
    }
}

fn read<T: for<'de> Deserialize<'de>>(table: Table) -> Result<T, String> {
    table.try_into().map_err(|error| error.to_string())
}

/// Values may be credentials.
pub type Headers = std::collections::BTreeMap<String, SecretString>;

#[cfg(test)]
mod tests;

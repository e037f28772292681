//! `[channels.*]`: the provider of each channel.
//!
//! The keys of a channel depend on its provider, so its table is kept as TOML until all sources are merged. The crate
//! of providers reads it ([`Channels::read`]): unknown and missing keys are refused by name.

use std::fmt;

use kernel::{Channel, ChannelSet};
use serde::Deserialize;
use toml::{Table, Value};

use super::{Callbacks, Error};

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

/// Checks of the settings of providers, by the crate that knows them.
pub trait ProviderSettings {
    /// Checks a channel's table.
    ///
    /// # Errors
    /// What is wrong, without the values.
    fn check_channel(&self, channel: Channel, table: Table) -> Result<(), String>;

    /// Checks the credentials of callbacks.
    ///
    /// # Errors
    /// An unknown key, or credentials that cannot be read.
    fn check_callbacks(&self, callbacks: &Callbacks) -> Result<(), Error>;
}

impl Channels {
    /// The channels that have a provider.
    pub fn set(&self) -> ChannelSet {
        Channel::ALL.into_iter().filter(|channel| self.given(*channel).is_some()).collect()
    }

    /// Reads the table of every channel that has one.
    ///
    /// # Errors
    /// The first channel with invalid settings.
    pub fn read<T>(
        &self,
        read: impl Fn(Channel, Table) -> Result<T, String>,
    ) -> Result<Vec<(Channel, T)>, Error> {
        let given = |channel| Some((channel, self.given(channel)?));
        Channel::ALL
            .into_iter()
            .filter_map(given)
            .map(|(channel, given)| {
                let mut table = given.0.clone();
                if channel == Channel::Email {
                    // Belongs to email with any provider: read by [`Channels::from_domains`].
                    table.remove(FROM_DOMAINS);
                }
                match read(channel, table) {
                    Ok(settings) => Ok((channel, settings)),
                    Err(reason) => Err(Error::Refused {
                        source_name: format!("channels.{channel}"),
                        reason: super::one_line(&reason),
                    }),
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_domains_belong_to_email_with_any_provider() {
        let of = |given: &str| {
            let text = format!("[email]\nurl = \"http://h/mail\"\nfrom_domains = {given}");
            let read: Channels = toml::from_str(&text).unwrap();
            let tables = read.read(|_, table| Ok(table)).unwrap();
            assert!(!tables[0].1.contains_key(FROM_DOMAINS), "providers do not see it");
            read.from_domains().map_err(|refusal| refusal.to_string())
        };
        let both = ["example.test", "xn--bcher-kva.test"].map(str::to_owned).to_vec();
        assert_eq!(of("[\"Example.test\", \"bücher.test\"]"), Ok(both.clone()));
        assert_eq!(of("\"example.test, bücher.test,\""), Ok(both));
        assert_eq!(of("[]"), Ok(Vec::new()));
        for (given, problem) in [
            ("[\"a b\"]", "`a b` is not a domain"),
            ("\"@example.test\"", "`@example.test` is not a domain"),
            ("[1]", "must be a list of domains"),
            ("true", "must be a list of domains"),
        ] {
            let refusal = of(given).unwrap_err();
            assert!(refusal.contains("channels.email.from_domains"), "{refusal}");
            assert!(refusal.contains(problem), "{refusal}");
        }
    }
}

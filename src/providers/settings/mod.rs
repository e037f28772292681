//! Settings of providers: the tables `[channels.*]`.

pub(crate) mod text;

use std::{collections::BTreeMap, fmt::Debug, sync::Arc};

use kernel::Channel;
use secrecy::{ExposeSecret as _, SecretString};
use sender_domains::model::DkimKey;
use url::Url;

use crate::{Provider, deps::ProviderDeps};

/// The settings of a provider, read from a channel's table.
pub trait ChannelSettings: Debug + Send + Sync {
    /// The provider.
    ///
    /// # Errors
    /// When it cannot be set up.
    fn provider(&self, channel: Channel, deps: &ProviderDeps) -> anyhow::Result<Arc<dyn Provider>>;

    /// The hosts that messages are sent to.
    fn hosts(&self) -> Vec<Host>;

    /// The sender of emails, for providers of that channel.
    ///
    /// # Errors
    /// When the settings name no key that signs.
    fn email_sender(&self) -> anyhow::Result<EmailSender> {
        Ok(EmailSender::default())
    }
}

/// A host that a provider connects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Without the brackets of an IPv6 address.
    pub name: String,
    pub port: u16,
}

impl Host {
    /// The host of an http or https URL.
    pub(crate) fn of_url(url: &SecretString) -> Vec<Self> {
        let of = |url: Url| {
            let name = url.host_str()?.trim_matches(['[', ']']).to_owned();
            Some(Self { name, port: url.port_or_known_default()? })
        };
        Url::parse(url.expose_secret()).ok().and_then(of).into_iter().collect()
    }
}

/// The sender of emails that do not name one.
#[derive(Debug, Default)]
pub struct EmailSender {
    pub from: Option<String>,
    /// The public side of the key that mail is signed with; none where it is not signed here.
    pub dkim: Option<DkimKey>,
    /// Whether the sender's domain is the return path's, too, so that receivers check its SPF record.
    pub is_return_path: bool,
}

/// Values may be credentials.
pub(crate) type Headers = BTreeMap<String, SecretString>;

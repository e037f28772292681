//! Push notifications by the services of the platforms: APNs, FCM and Web Push.

mod apns;
mod config;
mod fcm;
mod push;
mod send;
mod web_push;

use std::sync::Arc;

use kernel::Channel;

use self::{config::NativeSettings, send::Native};
use crate::{
    Provider,
    deps::ProviderDeps,
    entry::{ProviderEntry, SendingEntry},
    settings::{ChannelSettings, Host},
};

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "native",
    sending: Some(SendingEntry {
        channel_faults: &[
            // FCM
            "THIRD_PARTY_AUTH_ERROR",
            "SENDER_ID_MISMATCH",
            // APNs
            "InvalidProviderToken",
            "ExpiredProviderToken",
        ],
        ..SendingEntry::of::<NativeSettings>(&[Channel::Push])
    }),
    callbacks: None,
};

impl ChannelSettings for NativeSettings {
    fn provider(&self, _: Channel, deps: &ProviderDeps) -> anyhow::Result<Arc<dyn Provider>> {
        Ok(Arc::new(Native::new(self.clone(), deps)?))
    }

    /// Those of Web Push come with each subscription.
    fn hosts(&self) -> Vec<Host> {
        let fcm = self.fcm.as_ref().map(|fcm| Host::of_url(&fcm.url));
        let apns = self.apns.as_ref().map(|apns| Host::of_url(&apns.url));
        fcm.into_iter().chain(apns).flatten().collect()
    }
}

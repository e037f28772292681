//! Push notifications by the services of the platforms: APNs, FCM and Web Push.

mod apns;
mod config;
mod fcm;
mod send;
mod web_push;

use kernel::Channel;

use self::config::NativeSettings;
use crate::entry::{ProviderEntry, SendingEntry};

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

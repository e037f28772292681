//! Push notifications by the services of the platforms: APNs for iOS, Web Push for browsers, FCM for
//! Android and for platforms whose own service is not set up.
//!
//! A message goes to every device of its recipient. It is accepted if it is accepted for one of them; devices that
//! no longer exist are named in any case. None of the services recognises repeats, so a call that was cut off
//! after it was sent is not made again.

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use futures_util::future::join_all;
use secrecy::{ExposeSecret as _, SecretString};

use super::{apns::Apns, config::NativeSettings, fcm::Fcm, web_push::WebPush};
use crate::{
    Provider, Sending, Sent,
    client::{Client, ClientOptions},
    deps::ProviderDeps,
    each::{self, CALLS_MAX, each},
    model::{Content, Device, Outcome, Outgoing, Platform, PushContent},
};

/// Seconds a message is kept for a device that cannot be reached, where it does not say itself: the most
/// that FCM and browsers' services keep one.
pub(super) const TTL_SECONDS_DEFAULT: u32 = 28 * 24 * 60 * 60;

#[derive(Debug)]
pub(super) struct Native {
    fcm: Option<Fcm>,
    apns: Option<Apns>,
    web_push: Option<WebPush>,
}

/// What became of a message at one device.
pub(super) struct Pushed {
    pub(super) outcome: Outcome,
    /// Whether the device is no more.
    pub(super) is_gone: bool,
}

impl From<Outcome> for Pushed {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, is_gone: false }
    }
}

impl Native {
    /// Sets it up.
    ///
    /// # Errors
    /// When there is no service, or one's key cannot be read or is none.
    pub(super) fn new(settings: NativeSettings, deps: &ProviderDeps) -> anyhow::Result<Self> {
        let NativeSettings { fcm, apns, web_push } = settings;
        if fcm.is_none() && apns.is_none() && web_push.is_none() {
            anyhow::bail!("at least one of the tables `fcm`, `apns` and `web_push` is needed");
        }
        let ProviderDeps { options, client, reach, clock, .. } = deps;
        let reach = *reach;
        let http2 = || Client::new(&ClientOptions { http2_only: true, ..options.clone() });
        let guarded = || Client::with_resolver(options, reach.resolver());
        let fcm = fcm.map(|fcm| Fcm::new(fcm, client.clone(), clock.clone()));
        let apns = apns.map(|apns| Apns::new(apns, http2(), clock.clone()));
        let web_push = web_push.map(|web| WebPush::new(web, guarded(), reach, clock.clone()));
        Ok(Self {
            fcm: fcm.transpose().context("fcm")?,
            apns: apns.transpose().context("apns")?,
            web_push: web_push.transpose().context("web_push")?,
        })
    }

    async fn one(&self, message: &Outgoing) -> Sent {
        let Content::Push(content) = &message.content else { return each::misplaced() };
        if message.devices.is_empty() {
            return each::refused("no_device", "no device of the recipient is registered").into();
        }
        let pushes = message.devices.iter().map(|device| self.push(message, content, device));
        all(&message.devices, join_all(pushes).await)
    }

    async fn push(&self, message: &Outgoing, content: &PushContent, device: &Device) -> Pushed {
        let is_subscription = device.p256dh.is_some() && device.auth.is_some();
        match (device.platform, &self.apns, &self.web_push, &self.fcm) {
            (Platform::Ios, Some(apns), _, _) => apns.push(message, content, device).await,
            (Platform::Web, _, Some(web_push), _) if is_subscription => {
                web_push.push(message, content, device).await
            }
            (_, _, _, Some(fcm)) if !is_subscription => fcm.push(message, content, device).await,
            _ => each::refused("no_provider", "no service is set up for the device's platform")
                .into(),
        }
    }
}

/// What became of a message by what became of it at each device: the best of them.
fn all(devices: &[Device], pushed: Vec<Pushed>) -> Sent {
    let gone = (devices.iter().zip(&pushed))
        .filter(|(_, pushed)| pushed.is_gone)
        .map(|(device, _)| device.clone())
        .collect();
    let best =
        pushed.into_iter().map(|pushed| pushed.outcome).min_by_key(|outcome| match outcome {
            Outcome::Accepted { .. } => 0,
            Outcome::Unknown { .. } => 1,
            Outcome::Retry { .. } => 2,
            Outcome::Rejected { .. } => 3,
        });
    Sent { outcome: best.unwrap_or_else(|| each::refused("no_device", "")), gone }
}

impl Provider for Native {
    fn send<'a>(&'a self, batch: &'a [Outgoing]) -> Sending<'a> {
        each(batch, |message| self.one(message))
    }

    fn batch_max(&self) -> usize {
        CALLS_MAX
    }
}

/// A key as it was given, or out of its file.
pub(super) fn key(
    name: &str,
    given: Option<SecretString>,
    file: Option<&Path>,
) -> anyhow::Result<SecretString> {
    match (given, file) {
        (Some(key), None) => Ok(key),
        (None, Some(file)) => std::fs::read_to_string(file)
            .map(Into::into)
            .with_context(|| format!("cannot read `{name}_file` {}", file.display())),
        _ => anyhow::bail!("one of `{name}` and `{name}_file` is needed"),
    }
}

/// An address with what the settings begin it with.
pub(super) fn base(url: &SecretString) -> String {
    url.expose_secret().trim_end_matches('/').to_owned()
}

pub(super) fn timeout(seconds: usize) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX))
}

/// Whether an icon is an address, and not the name of one in the app.
pub(super) fn is_address(icon: &str) -> bool {
    icon.starts_with("https://") || icon.starts_with("http://")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(token: &str) -> Device {
        Device { token: token.to_owned(), platform: Platform::Ios, p256dh: None, auth: None }
    }

    #[test]
    fn a_message_fares_as_at_the_best_of_its_devices() {
        let accepted = || Outcome::Accepted { provider_id: None, is_delivered: true };
        let unknown = || Outcome::Unknown { reason: String::new() };
        let retry = || Outcome::Retry { code: "503".into(), reason: String::new(), after: None };
        let rejected = || each::refused("410", "");
        for (outcomes, best) in [
            (vec![rejected(), accepted(), retry()], accepted()),
            (vec![retry(), unknown(), rejected()], unknown()),
            (vec![rejected(), retry()], retry()),
            (vec![rejected(), rejected()], rejected()),
        ] {
            let devices: Vec<_> = (0..outcomes.len()).map(|n| device(&n.to_string())).collect();
            let is_gone = |outcome: &Outcome| *outcome == rejected();
            let gone: Vec<_> = (devices.iter().zip(&outcomes))
                .filter(|(_, outcome)| is_gone(outcome))
                .map(|(device, _)| device.clone())
                .collect();
            let pushed = outcomes
                .into_iter()
                .map(|outcome| Pushed { is_gone: is_gone(&outcome), outcome })
                .collect();
            assert_eq!(all(&devices, pushed), Sent { outcome: best, gone });
        }
    }
}

//! Push notifications by the services of the platforms: APNs for iOS, Web Push for browsers, FCM for
//! Android and for platforms whose own service is not set up.
//!
//! A message goes to every device of its recipient. It is accepted if it is accepted for one of them; devices that
//! no longer exist are named in any case. None of the services recognises repeats, so a call that was cut off
//! after it was sent is not made again.

use anyhow::Context as _;
use futures_util::future::join_all;

use super::{apns::Apns, config::NativeSettings, fcm::Fcm, push::Pushed, web_push::WebPush};
use crate::{
    Provider, Sending, Sent,
    client::{Client, ClientOptions},
    deps::ProviderDeps,
    each::{self, CALLS_MAX, each},
    model::{Content, Device, Outcome, Outgoing, Platform, PushContent},
};

#[derive(Debug)]
pub(super) struct Native {
    fcm: Option<Fcm>,
    apns: Option<Apns>,
    web_push: Option<WebPush>,
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

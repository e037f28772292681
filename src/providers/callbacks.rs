//! Where providers that are told an address with each message shall report: to this program, where it is
//! reached from outside and can tell that it is them.

use config::Settings;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::ExposeSecret as _;
use url::Url;

pub(super) fn of_twilio(settings: &Settings) -> Option<Url> {
    settings.callbacks.twilio_auth_token.as_ref()?;
    under(settings.public_url.as_ref()?, ["sms", "twilio"])
}

/// Where Infobip reports, with the credentials it proves itself by.
pub(super) fn of_infobip(settings: &Settings) -> Option<Url> {
    let credentials = settings.callbacks.infobip.as_ref()?;
    let mut url = under(settings.public_url.as_ref()?, ["viber", "infobip"])?;
    let written = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    url.set_username(&written(&credentials.username)).ok()?;
    url.set_password(Some(&written(credentials.password.expose_secret()))).ok()?;
    Some(url)
}

fn under(public_url: &Url, provider: [&str; 2]) -> Option<Url> {
    let mut url = public_url.clone();
    url.path_segments_mut().ok()?.pop_if_empty().push("callbacks").extend(provider);
    Some(url)
}

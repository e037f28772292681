//! UTM tags on links, which web analytics use to attribute visits.

use std::{borrow::Cow, fmt::Write as _};

use campaigns::model::{message::MessageChannel, settings::utm::UtmSettings};
use content::template::{Form, Object};

use super::{RenderFault, text::Words};
use crate::model::Named;

/// Bytes that one tag may become.
const TAG_BYTES_MAX: usize = 1 << 10;
/// The value of `utm_source` without a setting.
const SOURCE: &str = "millrace";

/// The tags of a campaign's links.
#[derive(Debug, Default)]
pub(super) struct Utm(Vec<(&'static str, Words)>);

/// Tags for one recipient: names, and values in percent-encoding.
pub(super) type Tags = Vec<(&'static str, String)>;

impl Utm {
    /// Reads a campaign's settings. Tags that it does not name are left out; if it names none, the usual tags are
    /// used.
    pub(super) fn read(
        settings: Option<&UtmSettings>,
        channel: MessageChannel,
        campaign: Option<&Named>,
    ) -> Result<Self, RenderFault> {
        let Some(settings) = settings.filter(|settings| settings.is_enabled()) else {
            return Ok(Self::default());
        };
        let named = [
            ("utm_source", settings.source.as_deref()),
            ("utm_medium", settings.medium.as_deref()),
            ("utm_campaign", settings.campaign.as_deref()),
            ("utm_term", settings.term.as_deref()),
            ("utm_content", settings.content.as_deref()),
        ];
        let read = |tag: &'static str, text: &str| {
            Ok((tag, Words::read(tag, text, Form::Text, TAG_BYTES_MAX)?))
        };
        if named.iter().all(|(_, text)| text.is_none()) {
            let mut tags = vec![read("utm_source", SOURCE)?, read("utm_medium", medium(channel))?];
            if campaign.is_some() {
                tags.push(read("utm_campaign", "{{ campaign.name }}")?);
            }
            return Ok(Self(tags));
        }
        let tags = named.into_iter().filter_map(|(tag, text)| Some(read(tag, text?)));
        Ok(Self(tags.collect::<Result<_, RenderFault>>()?))
    }

    /// The tags for one recipient; what is empty is left out.
    pub(super) fn tags(&self, globals: &Object) -> Result<Tags, RenderFault> {
        let mut tags = Tags::new();
        for (tag, words) in &self.0 {
            let text = words.render(globals)?;
            if !text.trim().is_empty() {
                tags.push((tag, encoded(text.trim())));
            }
        }
        Ok(tags)
    }
}

const fn medium(channel: MessageChannel) -> &'static str {
    match channel {
        MessageChannel::Email => "email",
        MessageChannel::Sms => "sms",
        MessageChannel::Viber => "viber",
        MessageChannel::Push => "push",
        MessageChannel::Whatsapp => "whatsapp",
        MessageChannel::Webhook => "webhook",
    }
}

/// Everything but what RFC 3986 2.3 calls unreserved, as `%XX`.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// An address with the tags it does not have. The rest of it stays letter by letter.
pub(super) fn tagged<'t>(target: &'t str, tags: &Tags) -> Cow<'t, str> {
    if tags.is_empty() {
        return Cow::Borrowed(target);
    }
    let (address, fragment) = match target.split_once('#') {
        Some((address, fragment)) => (address, Some(fragment)),
        None => (target, None),
    };
    let query = address.split_once('?').map(|(_, query)| query);
    let has = |tag: &str| {
        query.is_some_and(|query| {
            let mut keys = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
            keys.any(|key| key.eq_ignore_ascii_case(tag))
        })
    };
    let mut tagged = address.to_owned();
    let mut joint = match query {
        None => "?",
        Some(query) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
    };
    for (tag, value) in tags.iter().filter(|(tag, _)| !has(tag)) {
        let _ = write!(tagged, "{joint}{tag}={value}");
        joint = "&";
    }
    if let Some(fragment) = fragment {
        let _ = write!(tagged, "#{fragment}");
    }
    Cow::Owned(tagged)
}

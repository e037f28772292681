//! The channels whose messages are a few fields: text messages, Viber, push, WhatsApp.

use campaigns::model::{
    message::{self, MessageChannel, PushMessage, SmsMessage, ViberMessage, WhatsappMessage},
    settings::channel_config::{ChannelConfig, PushPriority},
};
use content::template::{Form, Object};
use providers::model::{Content, PushContent, SmsContent, ViberContent, WhatsappContent};
use web::links::TARGET_BYTES_MAX;

use super::{
    Around, RenderFault, ShortLink,
    text::{Trees, Words, render_optional},
    utm::{self, Tags},
};

/// Bytes of a displayed text: more than any gateway accepts in one message.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// Bytes of a name or an address.
const LINE_BYTES_MAX: usize = 4 << 10;
/// Bytes of one string of free JSON.
const VALUE_BYTES_MAX: usize = 16 << 10;
/// Characters that end a sentence, not an address.
const AFTER_AN_ADDRESS: &[char] =
    &['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"', '…', '»', '”', '’'];

/// A message of one of these channels.
#[derive(Debug)]
pub(super) enum Short {
    Sms(Sms),
    Viber(Viber),
    Push(Push),
    Whatsapp(Whatsapp),
}

#[derive(Debug)]
pub(super) struct Sms {
    body: Option<Words>,
    from: Option<Words>,
    ttl_seconds: Option<u32>,
    shortens: bool,
}

#[derive(Debug)]
pub(super) struct Viber {
    template_id: Option<String>,
    variables: Trees,
    body: Option<Words>,
    sender_id: Option<String>,
    ttl_seconds: Option<u32>,
}

#[derive(Debug)]
pub(super) struct Push {
    title: Option<Words>,
    body: Option<Words>,
    icon: Option<Words>,
    image: Option<Words>,
    deep_link: Option<Words>,
    data: Trees,
    ttl_seconds: Option<u32>,
    high_priority: bool,
    collapse_key: Option<String>,
}

#[derive(Debug)]
pub(super) struct Whatsapp {
    template_id: Option<String>,
    waba_id: Option<String>,
    variables: Trees,
    reply_text: Option<Words>,
    phone_number_id: Option<String>,
}

fn text(field: &'static str, source: Option<&String>) -> Result<Option<Words>, RenderFault> {
    Words::optional(field, source, Form::Text, TEXT_BYTES_MAX)
}

fn line(field: &'static str, source: Option<&String>) -> Result<Option<Words>, RenderFault> {
    Words::optional(field, source, Form::Header, LINE_BYTES_MAX)
}

fn address(field: &'static str, source: Option<&String>) -> Result<Option<Words>, RenderFault> {
    Words::optional(field, source, Form::Url, LINE_BYTES_MAX)
}

/// A required part of a message.
fn needed<T>(field: &'static str, value: Option<T>) -> Result<T, RenderFault> {
    value.ok_or_else(|| RenderFault::of(field, "is empty"))
}

impl Short {
    pub(super) fn read(
        content: &message::Content,
        config: &ChannelConfig,
    ) -> Result<Self, RenderFault> {
        match content {
            message::Content::Sms(sms) => Ok(Self::Sms(Sms::read(sms, config)?)),
            message::Content::Viber(viber) => Ok(Self::Viber(Viber::read(viber, config)?)),
            message::Content::Push(push) => Ok(Self::Push(Push::read(push, config)?)),
            message::Content::Whatsapp(it) => Ok(Self::Whatsapp(Whatsapp::read(it, config)?)),
            message::Content::Email(_) | message::Content::Webhook(_) => {
                Err(RenderFault::of("message", "is not in the shape of its channel"))
            }
        }
    }

    pub(super) fn channel(&self) -> MessageChannel {
        match self {
            Self::Sms(_) => MessageChannel::Sms,
            Self::Viber(_) => MessageChannel::Viber,
            Self::Push(_) => MessageChannel::Push,
            Self::Whatsapp(_) => MessageChannel::Whatsapp,
        }
    }

    pub(super) fn render(
        &self,
        globals: &Object,
        around: &Around<'_>,
        tags: &Tags,
        short_links: &mut Vec<ShortLink>,
    ) -> Result<Content, RenderFault> {
        Ok(match self {
            Self::Sms(sms) => {
                Content::Sms(sms.render(globals, &Tagging { around, tags }, short_links)?)
            }
            Self::Viber(viber) => Content::Viber(viber.render(globals, &Tagging { around, tags })?),
            Self::Push(push) => Content::Push(push.render(globals)?),
            Self::Whatsapp(whatsapp) => Content::Whatsapp(whatsapp.render(globals)?),
        })
    }
}

impl Sms {
    fn read(sms: &SmsMessage, config: &ChannelConfig) -> Result<Self, RenderFault> {
        // The message's own sender goes before the channel's.
        let from = sms.from.as_ref().or(config.sender_id.as_ref());
        Ok(Self {
            body: text("body", sms.body.as_ref())?,
            from: line("from", from)?,
            ttl_seconds: config.ttl_seconds,
            shortens: sms.shorten_links.unwrap_or_default(),
        })
    }

    fn render(
        &self,
        globals: &Object,
        tagging: &Tagging<'_>,
        short_links: &mut Vec<ShortLink>,
    ) -> Result<SmsContent, RenderFault> {
        let body = needed("body", render_optional(self.body.as_ref(), globals)?)?;
        let body = with_addresses(&body, |target| {
            let target = tagging.tagged(target);
            // A target too long to be stored is not shortened.
            if !self.shortens || target.len() > TARGET_BYTES_MAX {
                return target;
            }
            let Around { signer, workspace, message, .. } = *tagging.around;
            let code = signer.code(workspace, message, &target);
            let url = signer.short_url(&code);
            if short_links.iter().all(|link| link.code != code) {
                short_links.push(ShortLink { code, target });
            }
            url
        });
        Ok(SmsContent {
            body,
            from: render_optional(self.from.as_ref(), globals)?,
            ttl_seconds: self.ttl_seconds,
        })
    }
}

/// How addresses in a text are tagged.
struct Tagging<'a> {
    around: &'a Around<'a>,
    tags: &'a Tags,
}

impl Tagging<'_> {
    /// Tags an address. Links of this service are not tagged, since its pages count no visitors.
    fn tagged(&self, target: &str) -> String {
        if target.starts_with(self.around.signer.base()) {
            return target.to_owned();
        }
        utm::tagged(target, self.tags).into_owned()
    }
}

/// The text with each address of the web in it replaced.
fn with_addresses(text: &str, mut replace: impl FnMut(&str) -> String) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = next_address(rest) {
        let (before, from) = rest.split_at(at);
        made.push_str(before);
        let ends = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"');
        let end = from.find(ends).unwrap_or(from.len());
        let address = from.get(..end).unwrap_or_default().trim_end_matches(AFTER_AN_ADDRESS);
        if address.len() > "https://".len() {
            made.push_str(&replace(address));
        } else {
            made.push_str(address);
        }
        rest = from.get(address.len()..).unwrap_or_default();
    }
    made.push_str(rest);
    made
}

/// Where the next address begins.
fn next_address(text: &str) -> Option<usize> {
    let begins = |at: &usize| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        !before.is_some_and(char::is_alphanumeric)
    };
    let schemes = ["http://", "https://"].into_iter();
    let found =
        schemes.filter_map(|scheme| text.match_indices(scheme).map(|(at, _)| at).find(begins));
    found.min()
}

impl Viber {
    fn read(viber: &ViberMessage, config: &ChannelConfig) -> Result<Self, RenderFault> {
        Ok(Self {
            template_id: viber.template_id.clone(),
            variables: Trees::read("variables", viber.variables.as_ref(), VALUE_BYTES_MAX)?,
            body: text("body", viber.body.as_ref())?,
            sender_id: config.sender_id.clone(),
            ttl_seconds: config.ttl_seconds,
        })
    }

    fn render(&self, globals: &Object, tagging: &Tagging<'_>) -> Result<ViberContent, RenderFault> {
        let body = render_optional(self.body.as_ref(), globals)?;
        if self.template_id.is_none() && body.is_none() {
            return Err(RenderFault::of("body", "is empty, and there is no template"));
        }
        let tagged = |body: String| with_addresses(&body, |target| tagging.tagged(target));
        Ok(ViberContent {
            template_id: self.template_id.clone(),
            variables: self.variables.render(globals)?,
            body: body.map(tagged),
            sender_id: self.sender_id.clone(),
            ttl_seconds: self.ttl_seconds,
        })
    }
}

impl Push {
    fn read(push: &PushMessage, config: &ChannelConfig) -> Result<Self, RenderFault> {
        Ok(Self {
            title: text("title", push.title.as_ref())?,
            body: text("body", push.body.as_ref())?,
            icon: address("icon", push.icon.as_ref())?,
            image: address("image", push.image.as_ref())?,
            deep_link: address("deepLink", config.deep_link.as_ref())?,
            data: Trees::read("data", push.data.as_ref(), VALUE_BYTES_MAX)?,
            ttl_seconds: config.ttl_seconds,
            high_priority: config.push_priority() == PushPriority::High,
            collapse_key: config.collapse_key.clone(),
        })
    }

    fn render(&self, globals: &Object) -> Result<PushContent, RenderFault> {
        Ok(PushContent {
            title: render_optional(self.title.as_ref(), globals)?,
            body: needed("body", render_optional(self.body.as_ref(), globals)?)?,
            icon: render_optional(self.icon.as_ref(), globals)?,
            image: render_optional(self.image.as_ref(), globals)?,
            deep_link: render_optional(self.deep_link.as_ref(), globals)?,
            data: self.data.render(globals)?,
            ttl_seconds: self.ttl_seconds,
            high_priority: self.high_priority,
            collapse_key: self.collapse_key.clone(),
        })
    }
}

impl Whatsapp {
    fn read(whatsapp: &WhatsappMessage, config: &ChannelConfig) -> Result<Self, RenderFault> {
        let is_reply = whatsapp.message_type.unwrap_or_default() == message::MessageType::Reply;
        let reply_text = whatsapp.reply_text.as_ref().filter(|_| is_reply);
        Ok(Self {
            template_id: whatsapp.template_id.clone().filter(|_| !is_reply),
            waba_id: whatsapp.waba_id.clone(),
            variables: Trees::read(
                "variableMapping",
                whatsapp.variable_mapping.as_ref().filter(|_| !is_reply),
                VALUE_BYTES_MAX,
            )?,
            reply_text: text("replyText", reply_text)?,
            phone_number_id: config.phone_number_id.clone(),
        })
    }

    fn render(&self, globals: &Object) -> Result<WhatsappContent, RenderFault> {
        let reply_text = render_optional(self.reply_text.as_ref(), globals)?;
        if self.template_id.is_none() && reply_text.is_none() {
            return Err(RenderFault::of("replyText", "is empty, and there is no template"));
        }
        Ok(WhatsappContent {
            template_id: self.template_id.clone(),
            waba_id: self.waba_id.clone(),
            variables: self.variables.render(globals)?,
            reply_text,
            phone_number_id: self.phone_number_id.clone(),
        })
    }
}

//! An email.

use campaigns::model::{
    message::{EmailMessage, address_of},
    settings::channel_config::ChannelConfig,
};
use content::{
    spam::builtin::offers_unsubscribe,
    template::{Form, Object},
};
use providers::model::EmailContent;

use super::{
    Around, Frame, RenderFault,
    globals::WaysOut,
    instrumentation,
    text::{Words, render_optional},
};

/// Bytes that the HTML part may become before its links are written.
const HTML_BYTES_MAX: usize = 1 << 20;
/// Bytes that the text part may become.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// Bytes that a line of the head may become.
const HEADER_BYTES_MAX: usize = 4 << 10;
/// Characters of a subject: RFC 5322 2.1.1 ends a line at 998.
const SUBJECT_CHARS_MAX: usize = 998;
/// Bytes that the preheader may become.
const PREHEADER_BYTES_MAX: usize = 4 << 10;

/// An email, ready to be rendered.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub(super) struct Email {
    subject: Option<Words>,
    preheader: Option<Words>,
    from: Option<Words>,
    from_name: Option<Words>,
    reply_to: Option<Words>,
    html: Option<Words>,
    text: Option<Words>,
    template_id: Option<String>,
    track_opens: bool,
    track_clicks: bool,
    list_unsubscribe: bool,
    /// Whether the author's content has a link to unsubscribe.
    leads_out: bool,
}

/// The context in which an email is rendered.
#[derive(Clone, Copy)]
pub(super) struct EmailContext<'a> {
    pub(super) frame: &'a Frame,
    pub(super) around: &'a Around<'a>,
    pub(super) outs: &'a WaysOut,
    pub(super) globals: &'a Object,
}

fn header(field: &'static str, source: Option<&String>) -> Result<Option<Words>, RenderFault> {
    Words::optional(field, source, Form::Header, HEADER_BYTES_MAX)
}

impl Email {
    pub(super) fn read(email: &EmailMessage, config: &ChannelConfig) -> Result<Self, RenderFault> {
        let not_blank = |text: &&String| !text.trim().is_empty();
        let html = email.html.as_ref().filter(not_blank);
        let text = email.text.as_ref().filter(not_blank);
        let preheader = email.preheader.as_ref();
        Ok(Self {
            subject: header("subject", email.subject.as_ref())?,
            preheader: Words::optional("preheader", preheader, Form::Text, PREHEADER_BYTES_MAX)?,
            from: header("from", email.from.as_ref())?,
            from_name: header("fromName", email.from_name.as_ref())?,
            reply_to: header("replyTo", config.reply_to.as_ref())?,
            html: Words::optional("html", html, Form::Html, HTML_BYTES_MAX)?,
            text: Words::optional("text", text, Form::Text, TEXT_BYTES_MAX)?,
            template_id: email.template_id.clone().filter(|_| html.is_none() && text.is_none()),
            track_opens: config.track_opens(),
            track_clicks: config.track_clicks(),
            list_unsubscribe: config.list_unsubscribe(),
            leads_out: offers_unsubscribe(html.map(String::as_str), text.map(String::as_str)),
        })
    }

    pub(super) fn render(&self, context: &EmailContext<'_>) -> Result<EmailContent, RenderFault> {
        let globals = context.globals;
        let subject = render_optional(self.subject.as_ref(), globals)?.unwrap_or_default();
        if subject.chars().count() > SUBJECT_CHARS_MAX {
            let problem = format!("is longer than {SUBJECT_CHARS_MAX} characters");
            return Err(RenderFault::of("subject", problem));
        }
        let html = self.html.as_ref().map(|html| html.render(globals)).transpose()?;
        let mut text = render_optional(self.text.as_ref(), globals)?;
        if html.is_none() && text.is_none() && self.template_id.is_none() {
            return Err(RenderFault::of("text", "is empty, and there is no HTML"));
        }
        // Marketing needs a link to unsubscribe: one is added if the author wrote none.
        let footer = (context.frame.is_marketing && !self.leads_out)
            .then_some(context.outs.unsubscribe.as_str())
            .filter(|url| !url.is_empty());
        if let (Some(text), Some(url)) = (&mut text, footer) {
            text.push_str("\n\n");
            text.push_str(&instrumentation::footer_text(url));
        }
        let preheader = render_optional(self.preheader.as_ref(), globals)?;
        let instrumented = html.map(|html| {
            let instrumentation = instrumentation::Instrumentation {
                around: context.around,
                tags: context.frame.utm.tags(globals)?,
                preheader: preheader.as_deref(),
                footer,
                track_opens: self.track_opens,
                track_clicks: self.track_clicks,
            };
            Ok(instrumentation.apply(&html, text.is_none()))
        });
        let instrumented = instrumented.transpose()?;
        let (html, made) = instrumented.map_or((None, None), |it| (Some(it.html), it.text));
        let (from, from_name) = self.sender(globals)?;
        Ok(EmailContent {
            from,
            // Known when the sender has been checked.
            signing_domain: None,
            from_name,
            template_id: self.template_id.clone(),
            reply_to: self.reply_to(globals)?,
            subject,
            html,
            text: text.or(made),
            headers: self.headers(context),
        })
    }

    /// The sender's address; without one, only the sender's name.
    fn sender(&self, globals: &Object) -> Result<(Option<String>, Option<String>), RenderFault> {
        let name =
            render_optional(self.from_name.as_ref(), globals)?.map(|name| name.trim().to_owned());
        let Some(from) = render_optional(self.from.as_ref(), globals)? else {
            return Ok((None, name));
        };
        let Some(address) = address_of(&from) else {
            return Err(RenderFault::of("from", "is no email address"));
        };
        let from = match name {
            Some(name) => format!("{} <{}>", phrase(&name), address.into_string()),
            None => from.trim().to_owned(),
        };
        Ok((Some(from), None))
    }

    fn reply_to(&self, globals: &Object) -> Result<Option<String>, RenderFault> {
        let Some(text) = render_optional(self.reply_to.as_ref(), globals)? else { return Ok(None) };
        match address_of(&text) {
            Some(_) => Ok(Some(text.trim().to_owned())),
            None => Err(RenderFault::of("replyTo", "is no email address")),
        }
    }

    /// Headers that classify the email for mail clients and mailbox providers: RFC 2369, RFC 8058,
    /// RFC 2919, RFC 3834. The SMTP provider adds `Feedback-ID`.
    fn headers(&self, context: &EmailContext<'_>) -> Vec<(String, String)> {
        let EmailContext { frame, around, outs, .. } = context;
        let mut headers = Vec::new();
        let mut add = |name: &str, value: String| headers.push((name.to_owned(), value));
        if frame.campaign.is_none() {
            add("Auto-Submitted", "auto-generated".to_owned());
            return headers;
        }
        if self.list_unsubscribe && !outs.unsubscribe.is_empty() {
            add("List-Unsubscribe", format!("<{}>", outs.unsubscribe));
            add("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned());
        }
        let host = url::Url::parse(around.signer.base()).ok();
        let host = host.as_ref().and_then(url::Url::host_str).unwrap_or("localhost");
        let list = frame.list.map_or(around.workspace.uuid(), kernel::ListId::uuid);
        add("List-ID", format!("<{list}.{host}>"));
        if frame.is_marketing {
            add("Precedence", "bulk".to_owned());
        }
        headers
    }
}

/// A name as it goes before an address: RFC 5322 3.2.5, in quotes where it needs them.
fn phrase(name: &str) -> String {
    const NEED_QUOTES: &[char] =
        &['<', '>', '"', ',', ';', ':', '@', '\\', '(', ')', '[', ']', '.'];
    if !name.contains(NEED_QUOTES) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

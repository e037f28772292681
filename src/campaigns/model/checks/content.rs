//! Checks of a campaign's content: it is complete, renders, has working links, and its weights add up.
//!
//! Templates are rendered for a profile without data, so checking takes as long as rendering: run it on a
//! blocking thread.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use content::{
    markup::{Link, Page},
    spam::builtin::offers_unsubscribe,
    template::{self, Form, Object, Template},
};
use serde_json::{Map, Value};
use url::Url;

use super::{Check, CheckId};
use crate::model::{
    CampaignChannel, Definition, SendType, Variant,
    in_app::{InAppContent, Mode},
    message::{Auth, Content, MessageType},
};

/// Tolerance of the sum of weights.
const SUM_TOLERANCE: f64 = 0.01;
/// Required sum of all weights.
const SUM: f64 = 100.0;
const HTML_OUTPUT_BYTES_MAX: usize = 1 << 20;
/// Largest rendering of other texts.
const TEXT_OUTPUT_BYTES_MAX: usize = 64 << 10;
/// Timeout of rendering all templates of a campaign.
const RENDER_MAX: Duration = Duration::from_secs(5);
/// Findings listed in one check.
const FINDINGS_MAX: usize = 5;
/// Replaces a recipient's data in a link.
const STAND_IN: &str = "\u{e000}";

pub fn content(definition: &Definition) -> Vec<Check> {
    vec![
        content_present(definition),
        subject_present(definition),
        liquid_valid(definition),
        links_valid(definition),
        unsubscribe_present(definition),
        weights_sum(definition),
    ]
}

/// The variants with a message.
fn with_message(definition: &Definition) -> impl Iterator<Item = &Variant> {
    definition.variants.iter().filter(|variant| !variant.is_control())
}

fn is_blank(text: Option<&String>) -> bool {
    text.is_none_or(|text| text.trim().is_empty())
}

/// Several findings as one message.
fn listed(findings: &[String]) -> String {
    let named = findings.iter().take(FINDINGS_MAX).cloned().collect::<Vec<_>>().join("; ");
    match findings.len().saturating_sub(FINDINGS_MAX) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

fn content_present(definition: &Definition) -> Check {
    let id = CheckId::ContentPresent;
    if with_message(definition).next().is_none() {
        // In-app campaigns need no variants.
        return if definition.channel == CampaignChannel::InApp {
            Check::warn(id, "there is no variant, so nothing is shown")
        } else {
            Check::fail(id, "no variant has anything to say")
        };
    }
    let lacking: Vec<String> = with_message(definition)
        .filter_map(|variant| Some(format!("variant {} has no {}", variant.id, lacks(variant)?)))
        .collect();
    if !lacking.is_empty() {
        return Check::fail(id, listed(&lacking));
    }
    let at_provider = |variant: &&Variant| {
        variant.message.as_ref().is_some_and(|message| match &message.content {
            Content::Email(email) => is_blank(email.html.as_ref()) && is_blank(email.text.as_ref()),
            _ => false,
        })
    };
    match with_message(definition).find(at_provider) {
        Some(variant) => Check::warn(
            id,
            format!("the content of variant {} is a template of the provider's", variant.id),
        ),
        None => Check::pass(id, "every variant has something to say"),
    }
}

/// What a variant lacks for sending.
fn lacks(variant: &Variant) -> Option<&'static str> {
    if let Some(content) = &variant.custom_content {
        return lacks_in_app(content);
    }
    let Some(message) = &variant.message else { return Some("content") };
    match &message.content {
        Content::Email(email) => (is_blank(email.html.as_ref())
            && is_blank(email.text.as_ref())
            && is_blank(email.template_id.as_ref()))
        .then_some("html, text or templateId"),
        Content::Sms(sms) => is_blank(sms.body.as_ref()).then_some("body"),
        Content::Viber(viber) => (is_blank(viber.template_id.as_ref())
            && is_blank(viber.body.as_ref()))
        .then_some("templateId or body"),
        Content::Push(push) => is_blank(push.body.as_ref()).then_some("body"),
        Content::Whatsapp(whatsapp) => match whatsapp.message_type.unwrap_or_default() {
            MessageType::Template => {
                is_blank(whatsapp.template_id.as_ref()).then_some("templateId")
            }
            MessageType::Reply => is_blank(whatsapp.reply_text.as_ref()).then_some("replyText"),
        },
        Content::Webhook(webhook) if is_blank(webhook.url.as_ref()) => Some("url"),
        Content::Webhook(webhook) => webhook.auth.as_ref().and_then(Auth::lacks),
    }
}

fn lacks_in_app(content: &InAppContent) -> Option<&'static str> {
    match content.mode() {
        Mode::Native => (is_blank(content.title.as_ref())
            && is_blank(content.body.as_ref())
            && is_blank(content.image_url.as_ref()))
        .then_some("title, body or imageUrl"),
        Mode::Html | Mode::DragDrop => is_blank(content.html.as_ref()).then_some("html"),
    }
}

fn subject_present(definition: &Definition) -> Check {
    let id = CheckId::SubjectPresent;
    let mut emails = 0;
    let mut lacking = Vec::new();
    for variant in with_message(definition) {
        if let Some(Content::Email(email)) = variant.message.as_ref().map(|it| &it.content) {
            emails += 1;
            // A template of the provider has its own.
            let own = is_blank(email.template_id.as_ref());
            if own && is_blank(email.subject.as_ref()) {
                lacking.push(format!("variant {} has no subject", variant.id));
            }
        }
    }
    match (emails, lacking.is_empty()) {
        (_, false) => Check::fail(id, listed(&lacking)),
        (0, true) => Check::pass(id, "there is no email, so there is no subject"),
        (_, true) => Check::pass(id, "every email has a subject"),
    }
}

/// Templates with their field and output format.
#[derive(Default)]
struct Templates<'v>(Vec<(&'static str, &'v str, Form)>);

impl<'v> Templates<'v> {
    fn of(variant: &'v Variant) -> Self {
        let mut found = Self::default();
        if let Some(content) = &variant.custom_content {
            found.in_app(content);
        }
        match variant.message.as_ref().map(|message| &message.content) {
            Some(Content::Email(email)) => {
                found.add("subject", email.subject.as_ref(), Form::Header);
                found.add("preheader", email.preheader.as_ref(), Form::Text);
                found.add("from", email.from.as_ref(), Form::Header);
                found.add("fromName", email.from_name.as_ref(), Form::Header);
                found.add("html", email.html.as_ref(), Form::Html);
                found.add("text", email.text.as_ref(), Form::Text);
            }
            Some(Content::Sms(sms)) => {
                found.add("body", sms.body.as_ref(), Form::Text);
                found.add("from", sms.from.as_ref(), Form::Header);
            }
            Some(Content::Viber(viber)) => {
                found.add("body", viber.body.as_ref(), Form::Text);
                found.strings("variables", viber.variables.iter().flat_map(Map::values));
            }
            Some(Content::Push(push)) => {
                found.add("title", push.title.as_ref(), Form::Text);
                found.add("body", push.body.as_ref(), Form::Text);
                found.add("icon", push.icon.as_ref(), Form::Url);
                found.add("image", push.image.as_ref(), Form::Url);
                found.strings("data", push.data.iter().flat_map(Map::values));
            }
            Some(Content::Whatsapp(whatsapp)) => {
                found.add("replyText", whatsapp.reply_text.as_ref(), Form::Text);
                let values = whatsapp.variable_mapping.iter().flat_map(Map::values);
                found.strings("variableMapping", values);
            }
            Some(Content::Webhook(webhook)) => {
                found.add("url", webhook.url.as_ref(), Form::Url);
                for text in webhook.headers.iter().flat_map(BTreeMap::values) {
                    found.add("headers", Some(text), Form::Header);
                }
                found.strings("body", webhook.body.iter());
            }
            None => {}
        }
        found
    }

    fn in_app(&mut self, content: &'v InAppContent) {
        self.add("title", content.title.as_ref(), Form::Text);
        self.add("body", content.body.as_ref(), Form::Text);
        self.add("imageUrl", content.image_url.as_ref(), Form::Text);
        self.add("html", content.html.as_ref(), Form::Html);
        for button in content.buttons.iter().flatten() {
            self.add("buttons", Some(&button.text), Form::Text);
            self.add("buttons", button.url.as_ref(), Form::Text);
        }
    }

    fn add(&mut self, path: &'static str, text: Option<&'v String>, form: Form) {
        if let Some(text) = text.filter(|text| template::has_markup(text)) {
            self.0.push((path, text, form));
        }
    }

    /// The strings of free JSON, whose depth was limited when it was read.
    fn strings(&mut self, path: &'static str, values: impl Iterator<Item = &'v Value>) {
        let mut left: Vec<&Value> = values.collect();
        while let Some(value) = left.pop() {
            match value {
                Value::String(text) => self.add(path, Some(text), Form::Text),
                Value::Array(values) => left.extend(values),
                Value::Object(map) => left.extend(map.values()),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }
}

fn liquid_valid(definition: &Definition) -> Check {
    let id = CheckId::LiquidValid;
    let mut faults = Vec::new();
    let mut count = 0_usize;
    let began = Instant::now();
    for variant in with_message(definition) {
        for (path, source, form) in Templates::of(variant).0 {
            count += 1;
            if began.elapsed() > RENDER_MAX {
                let seconds = RENDER_MAX.as_secs();
                return Check::fail(
                    id,
                    format!("the templates take longer than {seconds} s together"),
                );
            }
            if let Err(fault) = rendered(source, form) {
                faults.push(format!("variant {}, {path}: {fault}", variant.id));
            }
        }
    }
    match (faults.is_empty(), count) {
        (false, _) => Check::fail(id, listed(&faults)),
        (true, 0) => Check::pass(id, "there are no templates"),
        (true, _) => Check::pass(id, "every template renders"),
    }
}

/// Renders for a profile without data.
fn rendered(source: &str, form: Form) -> Result<(), String> {
    let parsed = Template::parse(source, form).map_err(|fault| fault.to_string())?;
    let room = if form == Form::Html { HTML_OUTPUT_BYTES_MAX } else { TEXT_OUTPUT_BYTES_MAX };
    parsed.render(&Object::new(), room).map(drop).map_err(|fault| fault.to_string())
}

/// A defect of a link.
enum Flaw {
    /// It cannot work or is not allowed.
    Broken(&'static str),
    /// It may be intended.
    Doubtful(&'static str),
}

fn links_valid(definition: &Definition) -> Check {
    let id = CheckId::LinksValid;
    let (mut broken, mut doubtful, mut count) = (Vec::new(), Vec::new(), 0_usize);
    for variant in with_message(definition) {
        let Some(html) = html_of(variant) else { continue };
        let Some(page) = Page::read(&template::blanked(html, STAND_IN)) else {
            broken.push(format!("variant {}: the HTML cannot be read", variant.id));
            continue;
        };
        count += page.links.len();
        for link in &page.links {
            let finding = |why| format!("variant {}: {} {why}", variant.id, shown(link));
            match flaw(&link.href) {
                Some(Flaw::Broken(why)) => broken.push(finding(why)),
                Some(Flaw::Doubtful(why)) => doubtful.push(finding(why)),
                None => {}
            }
        }
    }
    match (broken.is_empty(), doubtful.is_empty(), count) {
        (false, _, _) => Check::fail(id, listed(&broken)),
        (true, false, _) => Check::warn(id, listed(&doubtful)),
        (true, true, 0) => Check::pass(id, "there are no links"),
        (true, true, _) => Check::pass(id, "every link leads somewhere"),
    }
}

fn html_of(variant: &Variant) -> Option<&String> {
    let in_app = variant.custom_content.as_ref().and_then(|content| content.html.as_ref());
    in_app.or_else(|| match variant.message.as_ref().map(|message| &message.content) {
        Some(Content::Email(email)) => email.html.as_ref(),
        _ => None,
    })
}

/// A link as a finding quotes it.
fn shown(link: &Link) -> String {
    const CHARS_MAX: usize = 80;
    let href: String = link.href.replace(STAND_IN, "…").chars().take(CHARS_MAX).collect();
    format!("“{href}”")
}

fn flaw(href: &str) -> Option<Flaw> {
    let href = href.trim();
    // The recipient's data decides the address, so it is checked at sending.
    if href.starts_with(STAND_IN) {
        return None;
    }
    match href {
        "" => return Some(Flaw::Doubtful("leads nowhere")),
        _ if href.starts_with('#') => {
            return (href == "#").then_some(Flaw::Doubtful("leads nowhere"));
        }
        _ => {}
    }
    let whole = href.replace(STAND_IN, "x");
    let scheme = whole.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        Some("javascript" | "vbscript" | "data") => {
            Some(Flaw::Broken("runs instead of leading somewhere"))
        }
        Some("http" | "https") if Url::parse(&whole).is_err() => {
            Some(Flaw::Broken("is no address"))
        }
        _ => match Url::parse(&whole) {
            Ok(_) => None,
            Err(_) => Some(Flaw::Doubtful("has no scheme: it leads nowhere from an inbox")),
        },
    }
}

fn unsubscribe_present(definition: &Definition) -> Check {
    let id = CheckId::UnsubscribePresent;
    let mut emails = 0;
    let mut lacking = Vec::new();
    for variant in with_message(definition) {
        if let Some(Content::Email(email)) = variant.message.as_ref().map(|it| &it.content) {
            emails += 1;
            if !offers_unsubscribe(email.html.as_deref(), email.text.as_deref()) {
                lacking.push(format!("variant {} has no link to unsubscribe", variant.id));
            }
        }
    }
    match (emails, lacking.is_empty()) {
        // Whether it is required depends on the list: mail about an order needs none.
        (_, false) => Check::warn(id, listed(&lacking)),
        (0, true) => Check::pass(id, "there is no email to unsubscribe from"),
        (_, true) => Check::pass(id, "every email can be unsubscribed from"),
    }
}

fn weights_sum(definition: &Definition) -> Check {
    let id = CheckId::WeightsSum;
    let is_learned = definition.channel == CampaignChannel::AiOptimized
        || definition.send_type == SendType::AiOptimized;
    let sum: f64 = definition.variants.iter().map(|variant| variant.weight).sum();
    match definition.variants.len() {
        0 => Check::pass(id, "there are no variants to weigh"),
        1 => Check::pass(id, "the only variant gets everyone"),
        _ if is_learned => Check::pass(id, "weights are only where learning begins"),
        _ if (sum - SUM).abs() <= SUM_TOLERANCE + f64::EPSILON * SUM => {
            Check::pass(id, "the weights add up to 100")
        }
        _ => Check::fail(id, format!("the weights add up to {sum} instead of 100")),
    }
}

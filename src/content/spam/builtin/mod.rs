//! Built-in rules for properties that spam filters score, each with its points. They use the content only;
//! nothing is looked up.
//!
//! Scores are in tenths, so that sums are exact.

mod links;
mod rules;
mod words;

#[cfg(test)]
mod tests;

use self::rules::RULES;
pub use self::rules::offers_unsubscribe;
use super::{Engine, Mail, Report, RuleHit, THRESHOLD};
use crate::markup::Page;

/// A rule, a pure function of the content.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    pub name: &'static str,
    /// Its points, in tenths.
    pub tenths: i32,
    pub description: &'static str,
    /// How to avoid it.
    pub advice: &'static str,
    /// Whether an email matches.
    matches: fn(&Seen) -> bool,
}

/// An email as the rules see it.
#[derive(Debug)]
struct Seen<'m> {
    mail: &'m Mail,
    subject: String,
    /// None if there is no HTML part, or if it cannot be parsed.
    page: Option<Page>,
    /// Whether the HTML part cannot be parsed.
    is_unreadable: bool,
    /// The visible text of both parts.
    text: String,
    /// The same in lower case, with words separated by single spaces.
    lower: String,
}

impl<'m> Seen<'m> {
    fn of(mail: &'m Mail) -> Self {
        let html = mail.seen_html();
        let page = html.as_deref().and_then(Page::read);
        let mut text = page.as_ref().map(|page| page.text.clone()).unwrap_or_default();
        if let Some(plain) = mail.seen_text() {
            text.push('\n');
            text.push_str(&plain);
        }
        let lower = words::plain(&text);
        let is_unreadable = html.is_some_and(|html| !html.is_empty()) && page.is_none();
        Self { mail, subject: mail.seen_subject(), page, is_unreadable, text, lower }
    }

    fn has_html(&self) -> bool {
        self.mail.html.as_ref().is_some_and(|html| !html.trim().is_empty())
    }

    fn has_text(&self) -> bool {
        self.mail.text.as_ref().is_some_and(|text| !text.trim().is_empty())
    }
}

pub fn evaluate(mail: &Mail) -> Report {
    let seen = Seen::of(mail);
    let matched: Vec<&Rule> = RULES.iter().filter(|rule| (rule.matches)(&seen)).collect();
    let score = points(matched.iter().map(|rule| rule.tenths).sum());
    let hits = matched.iter().map(|rule| RuleHit {
        name: rule.name.to_owned(),
        score: points(rule.tenths),
        description: rule.description.to_owned(),
    });
    let mut report = Report::of(Engine::Builtin, score, THRESHOLD, hits.collect());
    let mut advised: Vec<&Rule> =
        matched.into_iter().filter(|rule| !rule.advice.is_empty()).collect();
    advised.sort_by_key(|rule| -rule.tenths);
    report.suggestions = advised.into_iter().map(|rule| rule.advice.to_owned()).collect();
    report
}

fn points(tenths: i32) -> f64 {
    f64::from(tenths) / 10.0
}

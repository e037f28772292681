//! Rules of our own: what makes the filters of mailbox providers wary, each rule with a score. They know
//! the content alone; nothing is looked up.
//!
//! Scores are in tenths, so that sums are exact.

mod links;
mod rules;
mod words;

#[cfg(test)]
mod tests;

use self::rules::RULES;
pub use self::rules::leads_out;
use super::{Engine, Mail, Report, RuleHit, THRESHOLD};
use crate::markup::Page;

/// A rule: pure, of the content alone.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    pub name: &'static str,
    /// What it adds, in tenths of a point.
    pub tenths: i32,
    pub description: &'static str,
    /// What would make it better.
    pub advice: &'static str,
    /// Whether an email meets it.
    meets: fn(&Seen) -> bool,
}

/// An email as the rules see it.
#[derive(Debug)]
struct Seen<'m> {
    mail: &'m Mail,
    subject: String,
    /// None where there is no HTML part, or none that can be read.
    page: Option<Page>,
    /// Whether there is an HTML part that cannot be read.
    is_unreadable: bool,
    /// All text that is seen, of both parts.
    text: String,
    /// The same in lower case, words parted by single spaces.
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

pub fn judge(mail: &Mail) -> Report {
    let seen = Seen::of(mail);
    let met: Vec<&Rule> = RULES.iter().filter(|rule| (rule.meets)(&seen)).collect();
    let score = points(met.iter().map(|rule| rule.tenths).sum());
    let hits = met.iter().map(|rule| RuleHit {
        name: rule.name.to_owned(),
        score: points(rule.tenths),
        description: rule.description.to_owned(),
    });
    let mut report = Report::of(Engine::Builtin, score, THRESHOLD, hits.collect());
    let mut advised: Vec<&Rule> = met.into_iter().filter(|rule| !rule.advice.is_empty()).collect();
    advised.sort_by_key(|rule| -rule.tenths);
    report.suggestions = advised.into_iter().map(|rule| rule.advice.to_owned()).collect();
    report
}

fn points(tenths: i32) -> f64 {
    f64::from(tenths) / 10.0
}

//! How an email looks to spam filters: asked of a SpamAssassin where one is set, else judged by rules of
//! our own.
//!
//! A daemon that is away, slow or says what cannot be read does not fail a check: the built-in rules
//! answer, and a suggestion says so.

pub mod builtin;
mod mail;
mod spamd;

use serde::Serialize;
use utoipa::ToSchema;

pub use self::{mail::Mail, spamd::Spamd};
use kernel::{Error, Result, Timestamp};

/// Score from which an email is spam, where the engine has no threshold of its own.
pub const THRESHOLD: f64 = 5.0;
/// Score from which an email is worth another look.
pub const WARN_FROM: f64 = 3.0;

/// What an engine says of an email.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The sum of the rules, to a tenth.
    pub score: f64,
    /// The score from which it is spam.
    pub threshold: f64,
    pub is_spam: bool,
    /// The same in a word.
    pub verdict: Verdict,
    pub engine: Engine,
    /// What it was judged by, worst first.
    pub rules: Vec<RuleHit>,
    /// What would make it better.
    pub suggestions: Vec<String>,
}

/// What to make of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Pass,
    Warn,
    Fail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// The daemon that the settings name.
    Spamassassin,
    /// The rules of this program.
    Builtin,
}

/// A rule that an email meets.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct RuleHit {
    pub name: String,
    /// What it adds to the score; less than nothing where it speaks for the email.
    pub score: f64,
    pub description: String,
}

impl Report {
    /// A report of these rules: sorted, added up, and judged.
    fn of(engine: Engine, score: f64, threshold: f64, mut rules: Vec<RuleHit>) -> Self {
        rules.sort_by(|one, other| {
            other.score.total_cmp(&one.score).then_with(|| one.name.cmp(&other.name))
        });
        let verdict = match score {
            score if score >= threshold => Verdict::Fail,
            score if score >= WARN_FROM => Verdict::Warn,
            _ => Verdict::Pass,
        };
        let is_spam = verdict == Verdict::Fail;
        Self { score, threshold, is_spam, verdict, engine, rules, suggestions: Vec::new() }
    }
}

/// Judges an email by the daemon where there is one, else by the rules of this program.
///
/// # Errors
/// When this program cannot run them.
pub async fn check(spamd: Option<&Spamd>, mail: Mail, now: Timestamp) -> Result<Report> {
    let asked = match spamd {
        Some(spamd) => Some(spamd.ask(&mail, now).await),
        None => None,
    };
    // A large letter takes long enough to hold others up.
    let builtin = tokio::task::spawn_blocking(move || builtin::judge(&mail)).await;
    let builtin = builtin.map_err(|fault| Error::Internal(fault.into()))?;
    let report = match asked {
        None => builtin,
        Some(Ok(report)) => Report { suggestions: builtin.suggestions, ..report },
        Some(Err(fault)) => {
            tracing::warn!(%fault, "spamd gave no answer, the built-in rules were used");
            metrics_catalogue::SPAM_ENGINE_FAULTS.with([fault.reason()]).increment(1);
            let told =
                format!("SpamAssassin could not be asked ({fault}): these are the built-in rules");
            let suggestions = std::iter::once(told).chain(builtin.suggestions).collect();
            Report { suggestions, ..builtin }
        }
    };
    let engine = match report.engine {
        Engine::Spamassassin => "spamassassin",
        Engine::Builtin => "builtin",
    };
    metrics_catalogue::SPAM_CHECKS.with([engine]).increment(1);
    Ok(report)
}

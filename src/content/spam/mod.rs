//! Spam score of an email: from a SpamAssassin daemon if one is configured, otherwise from built-in rules.
//!
//! A daemon that is unavailable, slow or answers garbage does not fail a check: the built-in rules answer,
//! and a suggestion says so.

pub mod builtin;
mod mail;
mod spamd;

use serde::Serialize;
use utoipa::ToSchema;

pub use self::{mail::Mail, spamd::Spamd};
use kernel::{Error, Result, Timestamp};

/// The score of spam, for an engine without its own threshold.
pub const THRESHOLD: f64 = 5.0;
/// The score of a warning.
pub const WARN_FROM: f64 = 3.0;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The sum of the rules, to a tenth.
    pub score: f64,
    /// The score from which the email is spam.
    pub threshold: f64,
    pub is_spam: bool,
    /// The score as a verdict.
    pub verdict: Verdict,
    pub engine: Engine,
    /// The matching rules, the highest score first.
    pub rules: Vec<RuleHit>,
    /// How to lower the score.
    pub suggestions: Vec<String>,
}

/// The verdict on a score.
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
    /// The daemon of the settings.
    Spamassassin,
    /// Rules that are compiled in.
    Builtin,
}

/// A rule that the email matches.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct RuleHit {
    pub name: String,
    /// Its points; negative if the rule speaks for the email.
    pub score: f64,
    pub description: String,
}

impl Report {
    /// Sorts the rules and derives the verdict.
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

/// Checks an email with the daemon if there is one, otherwise with the built-in rules.
///
/// # Errors
/// If the built-in rules panic.
pub async fn check(spamd: Option<&Spamd>, mail: Mail, now: Timestamp) -> Result<Report> {
    let asked = match spamd {
        Some(spamd) => Some(spamd.ask(&mail, now).await),
        None => None,
    };
    // A large email takes long enough to block other tasks.
    let builtin = tokio::task::spawn_blocking(move || builtin::evaluate(&mail)).await;
    let builtin = builtin.map_err(|fault| Error::Internal(fault.into()))?;
    let report = match asked {
        None => builtin,
        Some(Ok(report)) => Report { suggestions: builtin.suggestions, ..report },
        Some(Err(fault)) => {
            tracing::warn!(%fault, "spamd gave no answer, the built-in rules were used");
            metrics_catalogue::SPAM_ENGINE_FAULTS.with([fault.reason()]).increment(1);
            let notice =
                format!("SpamAssassin could not be asked ({fault}): these are the built-in rules");
            let suggestions = std::iter::once(notice).chain(builtin.suggestions).collect();
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

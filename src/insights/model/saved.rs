//! Questions saved under a name.

use kernel::{
    InsightId, Timestamp,
    fields::{
        Field, Fields, FromFields, Presence, Words, describe::described, read_object, word_for,
    },
    schema::{NAME_CHARS_MAX, Name},
};
use serde_json::{Map, Value};

use super::{
    funnels::FunnelQuestion,
    people::People,
    retention::{Retention, RetentionQuestion},
    trends::TrendsQuestion,
};

/// Saved insights of a workspace.
pub const SAVED_MAX: i64 = 1_000;
/// Bytes of JSON of a saved question.
pub const QUESTION_BYTES_MAX: usize = 65_536;

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Figures of events over intervals.
    Trends,
    /// People who go through steps.
    Funnels,
    /// People who return in later intervals.
    Retention,
}

/// The words for kinds.
pub const KINDS: &Words<Kind> =
    &[("trends", Kind::Trends), ("funnels", Kind::Funnels), ("retention", Kind::Retention)];

impl Kind {
    /// The word for it in the API.
    pub fn as_str(self) -> &'static str {
        word_for(KINDS, self)
    }

    /// The kind of a word in the store.
    ///
    /// # Errors
    /// When there is none.
    pub fn stored(word: &str) -> kernel::Result<Self> {
        let found = KINDS.iter().find(|(name, _)| *name == word);
        found
            .map(|(_, kind)| *kind)
            .ok_or_else(|| kernel::Error::internal("an unknown kind of insight"))
    }
}

/// A question of one of the kinds.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// A question about trends.
    Trends(Box<TrendsQuestion>),
    /// A question about a funnel.
    Funnels(Box<FunnelQuestion>),
    /// A question about retention.
    Retention(Box<RetentionQuestion>),
}

impl Question {
    /// Reads a question that was stored.
    ///
    /// # Errors
    /// What is wrong with it by the rules of this version.
    pub fn stored(kind: Kind, question: &Map<String, Value>) -> kernel::Result<Self> {
        let read = within_question;
        Ok(match kind {
            Kind::Trends => Self::Trends(Box::new(read_object(question).map_err(read)?)),
            Kind::Funnels => Self::Funnels(Box::new(read_object(question).map_err(read)?)),
            Kind::Retention => Self::Retention(Box::new(read_object(question).map_err(read)?)),
        })
    }

    /// Refuses a question whose range cannot be answered.
    ///
    /// # Errors
    /// What is wrong with the range, as in an answer.
    pub fn refuse_unanswerable(&self, now: Timestamp) -> kernel::Result<()> {
        match self {
            Self::Trends(question) => question.plan(now).map(drop),
            Self::Funnels(question) => question.period.span(now).map(drop),
            Self::Retention(question) => Retention::new(question, now).map(drop),
        }
        .map_err(|error| match error {
            kernel::Error::Invalid(errors) => within_question(errors),
            other => other,
        })
    }

    /// The people it is limited to, if it is.
    pub fn people(&self) -> Option<&People> {
        match self {
            Self::Trends(question) => question.people.as_ref(),
            Self::Funnels(question) => question.people.as_ref(),
            Self::Retention(question) => question.people.as_ref(),
        }
    }
}

/// Faults of a question where it stands in the body.
fn within_question(errors: Vec<kernel::FieldError>) -> kernel::Error {
    let within = |mut error: kernel::FieldError| {
        error.path = format!("question.{}", error.path);
        error
    };
    kernel::Error::Invalid(errors.into_iter().map(within).collect())
}

/// A question that is saved under a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Insight {
    /// The id in its URL.
    pub id: InsightId,
    /// What its author calls it.
    pub name: String,
    /// What it is about.
    pub kind: Kind,
    /// The question as it was sent.
    pub question: Map<String, Value>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

/// An insight to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewInsight {
    /// What its author calls it.
    pub name: String,
    /// What it is about.
    pub kind: Kind,
    /// The question as it was sent.
    pub question: Map<String, Value>,
}

described!(
    /// An insight to create.
    NewInsight as "InsightFields"
);

impl FromFields for NewInsight {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let name = name(body.required("name"));
        let kind = body.required("kind").about(KIND).one_of(KINDS);
        let question = question(body.required("question").about(QUESTION));
        refuse_long(body, &question);
        refuse_misfit(body, kind, &question);
        Self { name, kind, question }
    }
}

/// A change of an insight; absent fields stay.
#[derive(Debug, Clone, PartialEq)]
pub struct InsightPatch {
    /// A new name, if any.
    pub name: Option<String>,
    /// Another kind, with a question that fits it.
    pub kind: Option<Kind>,
    /// A new question, if any.
    pub question: Option<Map<String, Value>>,
}

described!(
    /// A change of an insight; absent fields stay unchanged.
    InsightPatch as "InsightChange"
);

impl FromFields for InsightPatch {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let name = name(body.optional("name"));
        let kind = body.optional("kind").about(KIND).one_of(KINDS);
        let question = question(body.optional("question").about(QUESTION));
        if kind.is_some() && question.is_none() && !body.is_refused("question") {
            body.refuse("question", "is required with kind");
        }
        if let Some(question) = &question {
            refuse_long(body, question);
            if let Some(kind) = kind {
                refuse_misfit(body, kind, question);
            }
        }
        Self { name, kind, question }
    }
}

const KIND: &str = "`trends`, `funnels` or `retention`.";
const QUESTION: &str = "The body of `POST /insights/trends`, `/insights/funnels` or `/insights/retention`, at most 64 KiB of JSON.";

fn question<P: Presence>(field: Field<'_, P>) -> P::Out<Map<String, Value>> {
    field.json_object()
}

/// Refuses a question that is longer than may be saved, of whatever kind.
fn refuse_long(body: &mut Fields<'_>, question: &Map<String, Value>) {
    let bytes = Value::Object(question.clone()).to_string().len();
    if bytes > QUESTION_BYTES_MAX {
        body.refuse(
            "question",
            format!("must have at most {QUESTION_BYTES_MAX} bytes of JSON, received {bytes}"),
        );
    }
}

/// Refuses a question that is none of its kind.
fn refuse_misfit(body: &mut Fields<'_>, kind: Kind, question: &Map<String, Value>) {
    if body.is_refused("question") || body.is_refused("kind") || !body.has("question") {
        return;
    }
    if let Err(kernel::Error::Invalid(errors)) = Question::stored(kind, question) {
        for error in errors {
            body.refuse(error.path.trim_end_matches('.'), error.problem);
        }
    }
}

/// A name is measured and stored without surrounding spaces.
fn name<P: Presence>(field: Field<'_, P>) -> P::Out<String> {
    field.as_type::<Name>().parsed(String::new(), |sent| {
        let name = sent.trim();
        match name.chars().count() {
            0 => Err("must not be empty".to_owned()),
            1..=NAME_CHARS_MAX => Ok(name.to_owned()),
            _ => Err(format!("must be at most {NAME_CHARS_MAX} characters")),
        }
    })
}

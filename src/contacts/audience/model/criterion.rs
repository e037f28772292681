//! An operator with its operand, as a rule for one JSON value.
//!
//! `not_equals`, `not_contains`, `not_in`, `not_exists` and `not_within_last` are the exact complements of
//! `equals`, `contains`, `in`, `exists` and `within_last`: they also match where there is no value. Every other
//! operator needs a value of its own type. Comparisons of texts are case-sensitive.

use kernel::{
    Timestamp,
    fields::{Fields, word_for},
};
use serde_json::Value;

use super::{
    VALUES_MAX,
    operand::{self, Bound, Moment, Scalar, Span, compare},
    word,
};

/// The operators that compare a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Equals,
    NotEquals,
    Contains,
    NotContains,
    StartsWith,
    EndsWith,
    In,
    NotIn,
    Gt,
    Gte,
    Lt,
    Lte,
    Between,
    Exists,
    NotExists,
    Before,
    After,
    WithinLast,
    NotWithinLast,
    IsTrue,
    IsFalse,
}

impl Operator {
    /// The names of the operators in request bodies.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("equals", Self::Equals),
        ("not_equals", Self::NotEquals),
        ("contains", Self::Contains),
        ("not_contains", Self::NotContains),
        ("starts_with", Self::StartsWith),
        ("ends_with", Self::EndsWith),
        ("in", Self::In),
        ("not_in", Self::NotIn),
        ("gt", Self::Gt),
        ("gte", Self::Gte),
        ("lt", Self::Lt),
        ("lte", Self::Lte),
        ("between", Self::Between),
        ("exists", Self::Exists),
        ("not_exists", Self::NotExists),
        ("before", Self::Before),
        ("after", Self::After),
        ("within_last", Self::WithinLast),
        ("not_within_last", Self::NotWithinLast),
        ("is_true", Self::IsTrue),
        ("is_false", Self::IsFalse),
    ];
}

/// The relation of a value to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Gt,
    Gte,
    Lt,
    Lte,
}

impl Comparison {
    /// The names of the relations in request bodies.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("gt", Self::Gt), ("gte", Self::Gte), ("lt", Self::Lt), ("lte", Self::Lte)];

    /// Whether a value with this order relative to the bound passes.
    pub const fn allows(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Gt => order.is_gt(),
            Self::Gte => order.is_ge(),
            Self::Lt => order.is_lt(),
            Self::Lte => order.is_le(),
        }
    }
}

/// A rule for one value. `not` makes it the complement, which also matches where there is no value.
#[derive(Debug, Clone, PartialEq)]
pub enum Criterion {
    /// `equals`, `not_equals`: the same plain value. Lists and objects equal nothing.
    Equals {
        not: bool,
        to: Scalar,
    },
    /// `contains`, `not_contains`: a substring of a text, or an element of a list.
    Contains {
        not: bool,
        part: Scalar,
    },
    /// `starts_with`: a text with this beginning.
    StartsWith(String),
    /// `ends_with`: a text with this end.
    EndsWith(String),
    /// `in`, `not_in`: equal to one of these.
    In {
        not: bool,
        values: Vec<Scalar>,
    },
    /// `gt`, `gte`, `lt`, `lte`: a number against a number, an ISO 8601 text against a date. A date alone is its
    /// whole UTC day, so `gt` begins after its end and `lte` includes all of it.
    Compare {
        by: Comparison,
        to: Bound,
    },
    /// `between`: both bounds are included.
    Between(Bound, Bound),
    /// `exists`, `not_exists`: present and not null.
    Exists {
        not: bool,
    },
    /// `before`: an ISO 8601 text before this time.
    Before(Moment),
    /// `after`: an ISO 8601 text after this time.
    After(Moment),
    /// `within_last`, `not_within_last`: an ISO 8601 text in the span that ends now.
    WithinLast {
        not: bool,
        span: Span,
    },
    IsTrue,
    /// `is_false`: the value is false. A missing value does not match.
    IsFalse,
}

/// What is wrong with an operand, and with which of its elements.
struct Wrong {
    at: Option<usize>,
    problem: String,
}

impl From<String> for Wrong {
    fn from(problem: String) -> Self {
        Self { at: None, problem }
    }
}

impl Criterion {
    /// Reads `operator`, one of those allowed here, and its operand `value`.
    pub fn read(body: &mut Fields<'_>, allowed: &[Operator]) -> Self {
        let words: Vec<_> =
            Operator::NAMED.iter().filter(|(_, known)| allowed.contains(known)).copied().collect();
        let Some(operator) = word::read(body.required("operator"), &words) else {
            return Self::IsTrue;
        };
        let value = body.optional("value").unchecked();
        Self::of(operator, &value).unwrap_or_else(|wrong| {
            let field = wrong.at.map_or("value".to_owned(), |at| format!("value[{at}]"));
            body.refuse(&field, wrong.problem);
            Self::IsTrue
        })
    }

    fn of(operator: Operator, value: &Value) -> Result<Self, Wrong> {
        use Operator as O;
        let not = matches!(
            operator,
            O::NotEquals | O::NotContains | O::NotIn | O::NotExists | O::NotWithinLast
        );
        Ok(match operator {
            O::Equals | O::NotEquals => Self::Equals { not, to: Scalar::read(value)? },
            O::Contains | O::NotContains => Self::Contains { not, part: part(value)? },
            O::StartsWith => Self::StartsWith(text(value)?),
            O::EndsWith => Self::EndsWith(text(value)?),
            O::In | O::NotIn => Self::In { not, values: values(value)? },
            O::Gt => Self::Compare { by: Comparison::Gt, to: Bound::read(value)? },
            O::Gte => Self::Compare { by: Comparison::Gte, to: Bound::read(value)? },
            O::Lt => Self::Compare { by: Comparison::Lt, to: Bound::read(value)? },
            O::Lte => Self::Compare { by: Comparison::Lte, to: Bound::read(value)? },
            O::Between => {
                let (from, to) = Bound::read_pair(value)?;
                Self::Between(from, to)
            }
            O::Before => Self::Before(moment(value)?),
            O::After => Self::After(moment(value)?),
            O::WithinLast | O::NotWithinLast => Self::WithinLast { not, span: Span::read(value)? },
            O::Exists | O::NotExists | O::IsTrue | O::IsFalse => {
                no_value(value)?;
                match operator {
                    O::IsTrue => Self::IsTrue,
                    O::IsFalse => Self::IsFalse,
                    _ => Self::Exists { not },
                }
            }
        })
    }

    pub fn operator(&self) -> Operator {
        use Operator as O;
        let either = |not: bool, positive, negative| if not { negative } else { positive };
        match self {
            Self::Equals { not, .. } => either(*not, O::Equals, O::NotEquals),
            Self::Contains { not, .. } => either(*not, O::Contains, O::NotContains),
            Self::StartsWith(_) => O::StartsWith,
            Self::EndsWith(_) => O::EndsWith,
            Self::In { not, .. } => either(*not, O::In, O::NotIn),
            Self::Compare { by: Comparison::Gt, .. } => O::Gt,
            Self::Compare { by: Comparison::Gte, .. } => O::Gte,
            Self::Compare { by: Comparison::Lt, .. } => O::Lt,
            Self::Compare { by: Comparison::Lte, .. } => O::Lte,
            Self::Between(..) => O::Between,
            Self::Exists { not } => either(*not, O::Exists, O::NotExists),
            Self::Before(_) => O::Before,
            Self::After(_) => O::After,
            Self::WithinLast { not, .. } => either(*not, O::WithinLast, O::NotWithinLast),
            Self::IsTrue => O::IsTrue,
            Self::IsFalse => O::IsFalse,
        }
    }

    /// The name of the operator in request bodies.
    pub fn operator_name(&self) -> &'static str {
        word_for(Operator::NAMED, self.operator())
    }

    /// The operand as it was sent.
    pub fn operand(&self) -> Option<Value> {
        Some(match self {
            Self::Equals { to: value, .. } | Self::Contains { part: value, .. } => value.to_json(),
            Self::StartsWith(text) | Self::EndsWith(text) => Value::String(text.clone()),
            Self::In { values, .. } => values.iter().map(Scalar::to_json).collect(),
            Self::Compare { to, .. } => to.to_json(),
            Self::Between(from, to) => Value::Array(vec![from.to_json(), to.to_json()]),
            Self::Before(moment) | Self::After(moment) => Bound::Moment(moment.clone()).to_json(),
            Self::WithinLast { span, .. } => span.to_json(),
            Self::Exists { .. } | Self::IsTrue | Self::IsFalse => return None,
        })
    }

    /// The number of values in its list.
    pub fn list_len(&self) -> usize {
        if let Self::In { values, .. } = self { values.len() } else { 0 }
    }

    /// Whether it is the complement of another rule.
    pub const fn is_complement(&self) -> bool {
        match self {
            Self::Equals { not, .. }
            | Self::Contains { not, .. }
            | Self::In { not, .. }
            | Self::Exists { not }
            | Self::WithinLast { not, .. } => *not,
            _ => false,
        }
    }

    /// The first and the last millisecond that meet a rule for times; `None` for each open end. An empty range for
    /// any other rule.
    pub fn moments(&self, now: Timestamp) -> (Option<i64>, Option<i64>) {
        match self {
            Self::Compare { by, to: Bound::Moment(moment) } => match by {
                Comparison::Gt => (Some(moment.end().millis() + 1), None),
                Comparison::Gte => (Some(moment.start().millis()), None),
                Comparison::Lt => (None, Some(moment.start().millis() - 1)),
                Comparison::Lte => (None, Some(moment.end().millis())),
            },
            Self::Between(Bound::Moment(from), Bound::Moment(to)) => {
                (Some(from.start().millis()), Some(to.end().millis()))
            }
            Self::Before(moment) => (None, Some(moment.start().millis() - 1)),
            Self::After(moment) => (Some(moment.end().millis() + 1), None),
            Self::WithinLast { span, .. } => (Some(span.before(now).millis()), Some(now.millis())),
            _ => (Some(i64::MAX), Some(i64::MIN)),
        }
    }

    /// Whether one of the values at a path meets it.
    pub fn holds(&self, values: &[&Value], now: Timestamp) -> bool {
        values.iter().any(|value| self.is_met(value, now)) != self.is_complement()
    }

    /// Whether one value meets it, ignoring `not`.
    fn is_met(&self, value: &Value, now: Timestamp) -> bool {
        let text = value.as_str();
        let at = || text.and_then(|text| Timestamp::parse(text).ok());
        match self {
            Self::Equals { to, .. } => to.is(value),
            Self::Contains { part: Scalar::Text(part), .. } if text.is_some() => {
                text.is_some_and(|text| text.contains(part.as_str()))
            }
            Self::Contains { part, .. } => {
                value.as_array().is_some_and(|elements| elements.iter().any(|e| part.is(e)))
            }
            Self::StartsWith(start) => text.is_some_and(|text| text.starts_with(start.as_str())),
            Self::EndsWith(end) => text.is_some_and(|text| text.ends_with(end.as_str())),
            Self::In { values, .. } => values.iter().any(|wanted| wanted.is(value)),
            Self::Compare { by, to } => lies(value, *by, to),
            Self::Between(from, to) => {
                lies(value, Comparison::Gte, from) && lies(value, Comparison::Lte, to)
            }
            Self::Exists { .. } => !value.is_null(),
            Self::Before(moment) => at().is_some_and(|at| at < moment.start()),
            Self::After(moment) => at().is_some_and(|at| at > moment.end()),
            Self::WithinLast { span, .. } => {
                at().is_some_and(|at| span.before(now) <= at && at <= now)
            }
            Self::IsTrue => value == &Value::Bool(true),
            Self::IsFalse => value == &Value::Bool(false),
        }
    }
}

/// Whether a value is in this relation to a bound of its own type.
fn lies(value: &Value, by: Comparison, bound: &Bound) -> bool {
    match (bound, value) {
        (Bound::Number(bound), Value::Number(number)) => {
            compare(number, bound).is_some_and(|order| by.allows(order))
        }
        (Bound::Moment(moment), Value::String(text)) => {
            Timestamp::parse(text).is_ok_and(|at| match by {
                Comparison::Gt => at > moment.end(),
                Comparison::Gte => at >= moment.start(),
                Comparison::Lt => at < moment.start(),
                Comparison::Lte => at <= moment.end(),
            })
        }
        _ => false,
    }
}

fn part(value: &Value) -> Result<Scalar, String> {
    match value {
        Value::String(_) => text(value).map(Scalar::Text),
        value => Scalar::read(value),
    }
}

/// A text that is not empty, since every text contains the empty one.
fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => operand::text(text, 1),
        Value::Null => Err("is required".to_owned()),
        _ => Err("must be a string".to_owned()),
    }
}

fn moment(value: &Value) -> Result<Moment, String> {
    if value.is_null() { Err("is required".to_owned()) } else { Moment::read(value) }
}

fn values(value: &Value) -> Result<Vec<Scalar>, Wrong> {
    let Some(values) = value.as_array() else {
        let problem = if value.is_null() { "is required" } else { "must be an array" };
        return Err(problem.to_owned().into());
    };
    if !(1..=VALUES_MAX).contains(&values.len()) {
        let problem =
            format!("must have between 1 and {VALUES_MAX} elements, received {}", values.len());
        return Err(problem.into());
    }
    let read = |(at, value)| Scalar::read(value).map_err(|problem| Wrong { at: Some(at), problem });
    values.iter().enumerate().map(read).collect()
}

/// Operators without an operand accept `true`, which restates them. Any other value would be ignored.
fn no_value(value: &Value) -> Result<(), String> {
    match value {
        Value::Null | Value::Bool(true) => Ok(()),
        _ => Err("must be absent: the operator compares with nothing".to_owned()),
    }
}

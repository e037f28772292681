//! Filters on properties: the operators of attribute filters, with their meaning.

use analytics::insights::{Bound as NumberBound, Plain, PropertyRule, PropertyTest, Relation};
use audience::model::{Bound, Comparison, Criterion, Operator, Scalar};
use kernel::{
    Timestamp,
    fields::{Fields, FromFields},
};

use super::TEXT_CHARS_MAX;

/// A condition `{property, operator, value}`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PropertyFilter {
    path: String,
    criterion: Criterion,
}

impl FromFields for PropertyFilter {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let operators: Vec<Operator> = Operator::NAMED.iter().map(|(_, known)| *known).collect();
        Self {
            path: body
                .required("property")
                .about("Name of a property; a dot path reaches into objects.")
                .text(1..=TEXT_CHARS_MAX),
            criterion: Criterion::read(body, &operators),
        }
    }
}

impl PropertyFilter {
    /// The rule at a moment: `within_last` ends then.
    pub(super) fn test(&self, now: Timestamp) -> PropertyTest {
        PropertyTest {
            path: self.path.clone(),
            rule: rule(&self.criterion, now),
            not: self.criterion.is_complement(),
        }
    }
}

fn rule(criterion: &Criterion, now: Timestamp) -> PropertyRule {
    match criterion {
        Criterion::Equals { to, .. } => PropertyRule::Equals(plain(to)),
        Criterion::Contains { part, .. } => PropertyRule::Contains(plain(part)),
        Criterion::StartsWith(start) => PropertyRule::StartsWith(start.clone()),
        Criterion::EndsWith(end) => PropertyRule::EndsWith(end.clone()),
        Criterion::In { values, .. } => PropertyRule::In(values.iter().map(plain).collect()),
        Criterion::Compare { by, to: Bound::Number(number) } => {
            let relation = match by {
                Comparison::Gt => Relation::Gt,
                Comparison::Gte => Relation::Gte,
                Comparison::Lt => Relation::Lt,
                Comparison::Lte => Relation::Lte,
            };
            PropertyRule::Number(vec![NumberBound { relation, number: number.clone() }])
        }
        Criterion::Between(Bound::Number(from), Bound::Number(to)) => PropertyRule::Number(vec![
            NumberBound { relation: Relation::Gte, number: from.clone() },
            NumberBound { relation: Relation::Lte, number: to.clone() },
        ]),
        Criterion::Exists { .. } => PropertyRule::Exists,
        Criterion::IsTrue => PropertyRule::IsTrue,
        Criterion::IsFalse => PropertyRule::IsFalse,
        Criterion::Compare { .. }
        | Criterion::Between(..)
        | Criterion::Before(_)
        | Criterion::After(_)
        | Criterion::WithinLast { .. } => {
            let (from_ms, to_ms) = criterion.moments(now);
            PropertyRule::Time { from_ms, to_ms }
        }
    }
}

fn plain(scalar: &Scalar) -> Plain {
    match scalar {
        Scalar::Text(text) => Plain::Text(text.clone()),
        Scalar::Number(number) => Plain::Number(number.clone()),
        Scalar::Bool(value) => Plain::Bool(*value),
    }
}

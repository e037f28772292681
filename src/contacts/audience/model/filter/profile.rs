//! Filters on the fields of every profile.

use kernel::{
    Country, EmailAddress, PhoneNumber,
    fields::{Fields, word_for},
};

use crate::model::{Bound, Criterion, Operator, Scalar, word};

/// A field of every profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileField {
    /// The address, normalised; operands are converted to lower case.
    Email,
    /// The phone number without separators if it is valid, otherwise as sent.
    Phone,
    ExternalId,
    CreatedAt,
    UpdatedAt,
}

impl ProfileField {
    const NAMED: &'static [(&'static str, Self)] = &[
        ("email", Self::Email),
        ("phone", Self::Phone),
        ("externalId", Self::ExternalId),
        ("createdAt", Self::CreatedAt),
        ("updatedAt", Self::UpdatedAt),
    ];

    /// The name of the field in request bodies.
    pub fn name(self) -> &'static str {
        word_for(Self::NAMED, self)
    }

    /// Whether it is a time, not a text.
    pub const fn is_moment(self) -> bool {
        matches!(self, Self::CreatedAt | Self::UpdatedAt)
    }

    /// An operand in the form in which the field is stored in a workspace with this country.
    pub fn normal(self, text: &str, country: Option<Country>) -> String {
        match self {
            Self::Email => text
                .parse::<EmailAddress>()
                .map_or_else(|_| text.trim().to_lowercase(), EmailAddress::into_string),
            Self::Phone => text
                .parse::<PhoneNumber>()
                .map_or_else(|_| text.to_owned(), |it| it.in_country(country).into_string()),
            _ => text.to_owned(),
        }
    }

    /// A part of the field in the form in which it is stored.
    pub fn normal_part(self, text: &str) -> String {
        match self {
            Self::Email => text.to_lowercase(),
            Self::Phone => text.replace([' ', '-', '(', ')', '.'], ""),
            _ => text.to_owned(),
        }
    }

    /// The beginning of the field in the form in which it is stored in a workspace with this country.
    pub fn normal_beginning(self, text: &str, country: Option<Country>) -> String {
        let part = self.normal_part(text);
        if self != Self::Phone {
            return part;
        }
        if let Some(rest) = part.strip_prefix("00") {
            return format!("+{rest}");
        }
        match country.filter(|country| country.is_national_beginning(&part)) {
            Some(country) => country.international_beginning(&part),
            None => part,
        }
    }
}

/// A condition on a field of the profile.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileFilter {
    pub field: ProfileField,
    /// The rule for its value.
    pub criterion: Criterion,
}

const TEXT_OPERATORS: &[Operator] = &[
    Operator::Equals,
    Operator::NotEquals,
    Operator::Contains,
    Operator::NotContains,
    Operator::StartsWith,
    Operator::EndsWith,
    Operator::In,
    Operator::NotIn,
    Operator::Exists,
    Operator::NotExists,
];

const MOMENT_OPERATORS: &[Operator] = &[
    Operator::Gt,
    Operator::Gte,
    Operator::Lt,
    Operator::Lte,
    Operator::Between,
    Operator::Before,
    Operator::After,
    Operator::WithinLast,
    Operator::NotWithinLast,
    Operator::Exists,
    Operator::NotExists,
];

impl ProfileFilter {
    pub(super) fn read(body: &mut Fields<'_>) -> Self {
        let Some(field) = word::read(body.required("field"), ProfileField::NAMED) else {
            return Self { field: ProfileField::Email, criterion: Criterion::IsTrue };
        };
        let operators = if field.is_moment() { MOMENT_OPERATORS } else { TEXT_OPERATORS };
        let criterion = Criterion::read(body, operators);
        let is_text = |value: &Scalar| matches!(value, Scalar::Text(_));
        let is_moment = |bound: &Bound| matches!(bound, Bound::Moment(_));
        match &criterion {
            Criterion::Equals { to: value, .. } | Criterion::Contains { part: value, .. }
                if !is_text(value) =>
            {
                body.refuse("value", "must be a string");
            }
            Criterion::In { values, .. } if !values.iter().all(is_text) => {
                body.refuse("value", "must be a list of strings");
            }
            Criterion::Compare { to: bound, .. } | Criterion::Between(bound, _)
                if !is_moment(bound) =>
            {
                body.refuse("value", "must be an ISO 8601 date or date-time");
            }
            _ => {}
        }
        Self { field, criterion }
    }
}

//! One value of a row, borrowed from where it comes from.

/// A value, to be written in a column of its type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// No value; for columns of every type that may be null.
    Null,
    /// For columns of texts.
    Text(&'a str),
    /// A valid JSON value as text; for columns of JSON.
    Json(&'a str),
    /// For columns of booleans.
    Boolean(bool),
    /// For columns of integers.
    Integer(i64),
    /// For columns of numbers.
    Number(f64),
    /// In units of the last digit of the column's scale: 49.90 is 4990 where the scale is 2.
    Decimal(i64),
    /// Milliseconds since 1970, UTC.
    Timestamp(i64),
    /// Names with doubles, in the order of writing.
    NumberMap(&'a [(&'a str, f64)]),
    /// Names with texts, in the order of writing.
    TextMap(&'a [(&'a str, &'a str)]),
    /// Texts, in the order of writing.
    TextList(&'a [&'a str]),
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }
}

impl From<Option<f64>> for Value<'_> {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Null, Self::Number)
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(integer: Option<i64>) -> Self {
        integer.map_or(Self::Null, Self::Integer)
    }
}

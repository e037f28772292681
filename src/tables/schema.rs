//! Columns of tables: their names and types.

use std::{borrow::Cow, sync::Arc};

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Any text in UTF-8.
    Text,
    /// A JSON value as text. In NDJSON and JSON it stands as the value itself.
    Json,
    /// Either true or false.
    Boolean,
    /// A 64-bit integer with a sign.
    Integer,
    /// A double; what is not finite is written as null.
    Number,
    /// A decimal of up to 18 digits, so many of them after the point.
    Decimal {
        /// Digits after the point, at most 18.
        scale: u8,
    },
    /// An instant, to the millisecond, in UTC.
    Timestamp,
    /// Doubles by their names.
    NumberMap,
    /// Texts by their names.
    TextMap,
    /// A list of texts.
    TextList,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name in the head of the table.
    pub name: Cow<'static, str>,
    /// What its values are.
    pub kind: ColumnType,
    /// Whether values may be null.
    pub is_nullable: bool,
}

impl Column {
    /// A column in which each row has a value.
    pub fn required(name: impl Into<Cow<'static, str>>, kind: ColumnType) -> Self {
        Self { name: name.into(), kind, is_nullable: false }
    }

    /// A column in which values may be null.
    pub fn nullable(name: impl Into<Cow<'static, str>>, kind: ColumnType) -> Self {
        Self { name: name.into(), kind, is_nullable: true }
    }
}

/// The columns of a table, in order. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema(Arc<[Column]>);

impl Schema {
    /// A table of these columns.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self(columns.into_iter().collect())
    }

    /// The columns in the order of the rows' values.
    pub fn columns(&self) -> &[Column] {
        &self.0
    }
}

//! Values of a batch, column by column.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{
        BooleanBuilder, Decimal128Builder, Float64Builder, Int64Builder, ListBuilder, MapBuilder,
        MapFieldNames, StringBuilder, TimestampMillisecondBuilder,
    },
};
use arrow_schema::{ArrowError, Field, Schema as ArrowSchema, SchemaRef};

use crate::{Column, ColumnType, Schema, TableError, Value, text};

/// Digits of a decimal: as many as a 64-bit integer always holds.
const DECIMAL_PRECISION: u8 = 18;
/// All instants are in this zone.
const UTC: &str = "UTC";

#[derive(Debug)]
enum Builder {
    Text(StringBuilder),
    Boolean(BooleanBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Decimal(Decimal128Builder),
    Timestamp(TimestampMillisecondBuilder),
    NumberMap(MapBuilder<StringBuilder, Float64Builder>),
    TextMap(MapBuilder<StringBuilder, StringBuilder>),
    TextList(ListBuilder<StringBuilder>),
}

/// A batch of rows that is being collected.
#[derive(Debug)]
pub(super) struct Columns {
    schema: SchemaRef,
    builders: Vec<Builder>,
    rows: usize,
    /// Bytes of the values, about.
    bytes: usize,
}

impl Columns {
    pub(super) fn new(schema: &Schema) -> Result<Self, TableError> {
        let columns = schema.columns();
        let mut builders: Vec<Builder> =
            columns.iter().map(Builder::new).collect::<Result<_, _>>()?;
        let fields: Vec<Field> = columns
            .iter()
            .zip(&mut builders)
            .map(|(column, builder)| {
                let kind = builder.finish().data_type().clone();
                Field::new(&*column.name, kind, column.is_nullable)
            })
            .collect();
        Ok(Self { schema: Arc::new(ArrowSchema::new(fields)), builders, rows: 0, bytes: 0 })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, row: &[Value<'_>]) -> Result<(), TableError> {
        for (builder, value) in self.builders.iter_mut().zip(row) {
            self.bytes += builder.push(*value)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// The rows collected, as a batch; then there are none.
    pub(super) fn take(&mut self) -> Result<RecordBatch, TableError> {
        (self.rows, self.bytes) = (0, 0);
        let arrays = self.builders.iter_mut().map(Builder::finish).collect();
        Ok(RecordBatch::try_new(self.schema(), arrays)?)
    }
}

/// The names that Parquet prescribes.
fn map_names() -> MapFieldNames {
    let [entry, key, value] = ["key_value", "key", "value"].map(str::to_owned);
    MapFieldNames { entry, key, value }
}

impl Builder {
    fn new(column: &Column) -> Result<Self, ArrowError> {
        Ok(match column.kind {
            ColumnType::Text | ColumnType::Json => Self::Text(StringBuilder::new()),
            ColumnType::Boolean => Self::Boolean(BooleanBuilder::new()),
            ColumnType::Integer => Self::Integer(Int64Builder::new()),
            ColumnType::Number => Self::Number(Float64Builder::new()),
            ColumnType::Decimal { .. } => {
                let scale = i8::try_from(text::scale(column)).unwrap_or(i8::MAX);
                let builder = Decimal128Builder::new();
                Self::Decimal(builder.with_precision_and_scale(DECIMAL_PRECISION, scale)?)
            }
            ColumnType::Timestamp => {
                Self::Timestamp(TimestampMillisecondBuilder::new().with_timezone(UTC))
            }
            ColumnType::NumberMap => {
                let (keys, values) = (StringBuilder::new(), Float64Builder::new());
                Self::NumberMap(MapBuilder::new(Some(map_names()), keys, values))
            }
            ColumnType::TextMap => {
                let (keys, values) = (StringBuilder::new(), StringBuilder::new());
                Self::TextMap(MapBuilder::new(Some(map_names()), keys, values))
            }
            ColumnType::TextList => Self::TextList(ListBuilder::new(StringBuilder::new())),
        })
    }

    /// Appends a value of the column's type; gives its size in bytes, about.
    fn push(&mut self, value: Value<'_>) -> Result<usize, ArrowError> {
        match (self, value) {
            (Self::Text(builder), Value::Text(text) | Value::Json(text)) => {
                builder.append_value(text);
                return Ok(text.len() + size_of::<i32>());
            }
            (Self::Text(builder), _) => builder.append_null(),
            (Self::Boolean(builder), Value::Boolean(is_true)) => builder.append_value(is_true),
            (Self::Boolean(builder), _) => builder.append_null(),
            (Self::Integer(builder), Value::Integer(integer)) => builder.append_value(integer),
            (Self::Integer(builder), _) => builder.append_null(),
            (Self::Number(builder), Value::Number(number)) => builder.append_value(number),
            (Self::Number(builder), _) => builder.append_null(),
            (Self::Decimal(builder), Value::Decimal(units)) => builder.append_value(units.into()),
            (Self::Decimal(builder), _) => builder.append_null(),
            (Self::Timestamp(builder), Value::Timestamp(at_ms)) => builder.append_value(at_ms),
            (Self::Timestamp(builder), _) => builder.append_null(),
            (Self::NumberMap(builder), value) => {
                let entries = if let Value::NumberMap(entries) = value { entries } else { &[] };
                let mut bytes = 0;
                for (name, number) in entries {
                    builder.keys().append_value(name);
                    builder.values().append_value(*number);
                    bytes += name.len() + size_of::<i32>() + size_of::<f64>();
                }
                builder.append(value != Value::Null)?;
                return Ok(bytes);
            }
            (Self::TextMap(builder), value) => {
                let entries = if let Value::TextMap(entries) = value { entries } else { &[] };
                let mut bytes = 0;
                for (name, text) in entries {
                    builder.keys().append_value(name);
                    builder.values().append_value(text);
                    bytes += name.len() + text.len() + 2 * size_of::<i32>();
                }
                builder.append(value != Value::Null)?;
                return Ok(bytes);
            }
            (Self::TextList(builder), value) => {
                let texts = if let Value::TextList(texts) = value { texts } else { &[] };
                let mut bytes = 0;
                for text in texts {
                    builder.values().append_value(text);
                    bytes += text.len() + size_of::<i32>();
                }
                builder.append(value != Value::Null);
                return Ok(bytes);
            }
        }
        Ok(size_of::<i64>())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Boolean(builder) => Arc::new(builder.finish()),
            Self::Integer(builder) => Arc::new(builder.finish()),
            Self::Number(builder) => Arc::new(builder.finish()),
            Self::Decimal(builder) => Arc::new(builder.finish()),
            Self::Timestamp(builder) => Arc::new(builder.finish()),
            Self::NumberMap(builder) => Arc::new(builder.finish()),
            Self::TextMap(builder) => Arc::new(builder.finish()),
            Self::TextList(builder) => Arc::new(builder.finish()),
        }
    }
}

//! Rows of Parquet files, also those of other programs.

use std::{fs::File, sync::Arc};

use arrow_array::{
    Array, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int16Array, Int32Array,
    Int64Array, LargeStringArray, ListArray, MapArray, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, SecondsFormat, Utc};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use serde_json::value::{RawValue, to_raw_value};

use super::{FaultyRow, Field};
use crate::TableError;

/// Rows that are unpacked at a time.
const BATCH_ROWS: usize = 1_024;

pub(super) struct ParquetReader {
    reader: ParquetRecordBatchReader,
    columns: Vec<Arc<str>>,
    batch: Option<RecordBatch>,
    /// The next row of the batch.
    next: usize,
}

impl std::fmt::Debug for ParquetReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetReader").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl ParquetReader {
    pub(super) fn new(file: File) -> Result<Self, TableError> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(BATCH_ROWS);
        for field in builder.schema().fields() {
            if !is_supported(field.data_type()) {
                return Err(TableError::UnsupportedColumn {
                    column: field.name().clone(),
                    kind: field.data_type().to_string(),
                });
            }
        }
        let columns = builder
            .schema()
            .fields()
            .iter()
            .map(|field| Arc::from(field.name().as_str()))
            .collect();
        Ok(Self { reader: builder.build()?, columns, batch: None, next: 0 })
    }

    pub(super) fn columns(&self) -> &[Arc<str>] {
        &self.columns
    }

    pub(super) fn next_row(&mut self) -> Result<Option<Result<Vec<Field>, FaultyRow>>, TableError> {
        let batch = loop {
            match &self.batch {
                Some(batch) if self.next < batch.num_rows() => break batch,
                _ => {
                    let Some(batch) = self.reader.next().transpose()? else { return Ok(None) };
                    (self.batch, self.next) = (Some(batch), 0);
                }
            }
        };
        let row = self.next;
        self.next += 1;
        let mut fields = Vec::with_capacity(self.columns.len());
        for (name, array) in self.columns.iter().zip(batch.columns()) {
            if array.is_valid(row) {
                // All columns are of supported types; a time may be too far from 1970 for a date.
                let Some(json) = json(array, row) else {
                    let reason = format!("{name} is out of range");
                    return Ok(Some(Err(FaultyRow { reason, text: String::new() })));
                };
                let value = RawValue::from_string(json)?;
                // A number that is not finite has no JSON.
                if value.get() != "null" {
                    fields.push(Field { name: Arc::clone(name), value });
                }
            }
        }
        Ok(Some(Ok(fields)))
    }
}

fn is_supported(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Boolean
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(..)
        | DataType::Timestamp(..) => true,
        DataType::List(item) => is_supported(item.data_type()),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => {
                matches!(fields.first().map(|key| key.data_type()), Some(DataType::Utf8))
                    && fields.get(1).is_some_and(|value| is_supported(value.data_type()))
            }
            _ => false,
        },
        _ => false,
    }
}

/// The value of a row that is not null, in JSON; none for a type that is not supported.
fn json(array: &dyn Array, row: usize) -> Option<String> {
    fn as_<T: Array + 'static>(array: &dyn Array) -> Option<&T> {
        array.as_any().downcast_ref::<T>()
    }
    let text = |text: &str| Some(to_raw_value(text).ok()?.get().to_owned());
    match array.data_type() {
        DataType::Utf8 => text(as_::<StringArray>(array)?.value(row)),
        DataType::LargeUtf8 => text(as_::<LargeStringArray>(array)?.value(row)),
        DataType::Utf8View => text(as_::<StringViewArray>(array)?.value(row)),
        DataType::Boolean => Some(as_::<BooleanArray>(array)?.value(row).to_string()),
        DataType::Int16 => Some(as_::<Int16Array>(array)?.value(row).to_string()),
        DataType::Int32 => Some(as_::<Int32Array>(array)?.value(row).to_string()),
        DataType::Int64 => Some(as_::<Int64Array>(array)?.value(row).to_string()),
        DataType::UInt32 => Some(as_::<UInt32Array>(array)?.value(row).to_string()),
        DataType::UInt64 => Some(as_::<UInt64Array>(array)?.value(row).to_string()),
        // Not finite: null.
        DataType::Float32 => serde_json::to_string(&as_::<Float32Array>(array)?.value(row)).ok(),
        DataType::Float64 => serde_json::to_string(&as_::<Float64Array>(array)?.value(row)).ok(),
        DataType::Decimal128(..) => Some(as_::<Decimal128Array>(array)?.value_as_string(row)),
        DataType::Timestamp(unit, _) => {
            let at: DateTime<Utc> = match unit {
                TimeUnit::Second => {
                    DateTime::from_timestamp(as_::<TimestampSecondArray>(array)?.value(row), 0)
                }
                TimeUnit::Millisecond => DateTime::from_timestamp_millis(
                    as_::<TimestampMillisecondArray>(array)?.value(row),
                ),
                TimeUnit::Microsecond => DateTime::from_timestamp_micros(
                    as_::<TimestampMicrosecondArray>(array)?.value(row),
                ),
                TimeUnit::Nanosecond => Some(DateTime::from_timestamp_nanos(
                    as_::<TimestampNanosecondArray>(array)?.value(row),
                )),
            }?;
            text(&at.to_rfc3339_opts(SecondsFormat::Millis, true))
        }
        DataType::List(_) => {
            let items = as_::<ListArray>(array)?.value(row);
            let items: Vec<String> =
                (0..items.len()).map(|at| json_or_null(&items, at)).collect::<Option<_>>()?;
            Some(format!("[{}]", items.join(",")))
        }
        DataType::Map(..) => {
            let entries = as_::<MapArray>(array)?.value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let member = |at| Some(format!("{}:{}", json(keys, at)?, json_or_null(values, at)?));
            let members: Vec<String> = (0..entries.len()).map(member).collect::<Option<_>>()?;
            Some(format!("{{{}}}", members.join(",")))
        }
        _ => None,
    }
}

fn json_or_null(array: &dyn Array, row: usize) -> Option<String> {
    if array.is_null(row) { Some("null".to_owned()) } else { json(array, row) }
}

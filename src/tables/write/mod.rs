//! Writing tables row by row.

mod columnar;
mod columns;
mod lines;
mod sink;

use bytes::Bytes;

use self::{columnar::ColumnarWriter, lines::LineWriter, sink::Sink};
use crate::{Column, ColumnType, Format, Schema, TableError, Value};

/// Writes a table in one of the formats. Holds a row group of Parquet, or a batch of Arrow, at most (about 16 and
/// 4 MiB), and what was not taken yet.
#[derive(Debug)]
pub struct TableWriter {
    schema: Schema,
    sink: Sink,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Lines(LineWriter),
    Columnar(Box<ColumnarWriter>),
}

impl TableWriter {
    /// Begins a table.
    ///
    /// # Errors
    /// When the columns cannot be put together.
    pub fn new(format: Format, schema: Schema) -> Result<Self, TableError> {
        let sink = Sink::default();
        let kind = match format {
            Format::Csv => Kind::Lines(LineWriter::csv(&schema, sink.clone())?),
            Format::Json => Kind::Lines(LineWriter::json()),
            Format::Ndjson => Kind::Lines(LineWriter::ndjson()),
            Format::Parquet => {
                Kind::Columnar(Box::new(ColumnarWriter::parquet(&schema, sink.clone())?))
            }
            Format::Arrow => {
                Kind::Columnar(Box::new(ColumnarWriter::arrow(&schema, sink.clone())?))
            }
        };
        Ok(Self { schema, sink, kind })
    }

    /// The columns of the table.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Appends a row: a value for each column, in order.
    ///
    /// # Errors
    /// When the values are not those of the columns. The row is left out of formats of lines; a table in a columnar
    /// format cannot be continued.
    pub fn push(&mut self, row: &[Value<'_>]) -> Result<(), TableError> {
        let columns = self.schema.columns();
        if row.len() != columns.len() {
            return Err(TableError::RowLength { values: row.len(), columns: columns.len() });
        }
        for (column, value) in columns.iter().zip(row) {
            check(column, value)?;
        }
        match &mut self.kind {
            Kind::Lines(writer) => writer.push(columns, row, &self.sink),
            Kind::Columnar(writer) => writer.push(row),
        }
    }

    /// Bytes that are ready to be taken.
    pub fn ready_bytes(&self) -> usize {
        self.sink.len()
    }

    /// Takes the bytes that are ready: those that come after what was taken before.
    pub fn take(&mut self) -> Bytes {
        self.sink.take()
    }

    /// Ends the table, and gives the bytes that were not taken yet.
    ///
    /// # Errors
    /// When the last rows cannot be written.
    pub fn finish(self) -> Result<Bytes, TableError> {
        match self.kind {
            Kind::Lines(writer) => writer.finish(&self.sink)?,
            Kind::Columnar(writer) => writer.finish()?,
        }
        Ok(self.sink.take())
    }
}

/// Refuses a value that is not of the column's type.
fn check(column: &Column, value: &Value<'_>) -> Result<(), TableError> {
    let is_of_type = match (column.kind, value) {
        (_, Value::Null) => column.is_nullable,
        (ColumnType::Text, Value::Text(_))
        | (ColumnType::Json, Value::Json(_))
        | (ColumnType::Boolean, Value::Boolean(_))
        | (ColumnType::Integer, Value::Integer(_))
        | (ColumnType::Number, Value::Number(_))
        | (ColumnType::Decimal { .. }, Value::Decimal(_))
        | (ColumnType::Timestamp, Value::Timestamp(_))
        | (ColumnType::NumberMap, Value::NumberMap(_))
        | (ColumnType::TextMap, Value::TextMap(_))
        | (ColumnType::TextList, Value::TextList(_)) => true,
        _ => false,
    };
    if is_of_type {
        return Ok(());
    }
    Err(TableError::WrongType { column: column.name.to_string(), value: format!("{value:?}") })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn schema() -> Schema {
        Schema::new([
            Column::required("id", ColumnType::Text),
            Column::nullable("n", ColumnType::Number),
        ])
    }

    fn whole(format: Format, rows: &[[Value<'_>; 2]]) -> Vec<u8> {
        let mut writer = TableWriter::new(format, schema()).unwrap();
        let mut bytes = Vec::new();
        for row in rows {
            writer.push(row).unwrap();
            bytes.extend_from_slice(&writer.take());
        }
        bytes.extend_from_slice(&writer.finish().unwrap());
        bytes
    }

    #[test]
    fn formats_of_lines_are_written_in_pieces() {
        let rows = [[Value::Text("a,\"\n"), Value::Number(1.5)], [Value::Text(""), Value::Null]];
        let text = |format| String::from_utf8(whole(format, &rows)).unwrap();
        assert_eq!(text(Format::Csv), "id,n\n\"a,\"\"\n\",1.5\n,\n");
        assert_eq!(
            text(Format::Ndjson),
            "{\"id\":\"a,\\\"\\n\",\"n\":1.5}\n{\"id\":\"\",\"n\":null}\n"
        );
        assert_eq!(
            text(Format::Json),
            "[{\"id\":\"a,\\\"\\n\",\"n\":1.5},\n{\"id\":\"\",\"n\":null}]\n"
        );
    }

    #[test]
    fn a_table_without_rows_is_one_of_its_format() {
        let text = |format| String::from_utf8(whole(format, &[])).unwrap();
        assert_eq!(text(Format::Csv), "id,n\n");
        assert_eq!(text(Format::Ndjson), "");
        assert_eq!(text(Format::Json), "[]\n");
        assert!(whole(Format::Parquet, &[]).ends_with(b"PAR1"));
        assert!(!whole(Format::Arrow, &[]).is_empty());
    }

    #[test]
    fn values_of_another_type_are_refused() {
        let mut writer = TableWriter::new(Format::Ndjson, schema()).unwrap();
        let wrong: [&[Value<'_>]; 4] = [
            &[Value::Text("a")],
            &[Value::Null, Value::Null],
            &[Value::Json("{}"), Value::Null],
            &[Value::Text("a"), Value::Integer(1)],
        ];
        for row in wrong {
            assert!(writer.push(row).is_err(), "{row:?}");
        }
        writer.push(&[Value::Text("a"), Value::Null]).unwrap();
        assert_eq!(writer.finish().unwrap(), "{\"id\":\"a\",\"n\":null}\n");
    }

    #[test]
    fn a_long_parquet_table_becomes_ready_by_row_groups() {
        let mut writer = TableWriter::new(Format::Parquet, schema()).unwrap();
        let mut pieces = 0;
        let mut noise = 1_u64;
        for row in 0..60_000_u32 {
            let mut id = String::new();
            for _ in 0..32 {
                // Knuth's generator: text that cannot be packed.
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                write!(id, "{noise:016x}").unwrap();
            }
            writer.push(&[Value::Text(&id), Value::Number(f64::from(row))]).unwrap();
            pieces += usize::from(!writer.take().is_empty());
        }
        assert_eq!(pieces, 1, "30 MB are a whole row group, and the beginning of one");
    }
}

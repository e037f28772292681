//! Formats with a line a row: CSV, NDJSON, and JSON with one object a line.

use csv::WriterBuilder;

use super::sink::Sink;
use crate::{
    Column, Schema, TableError, Value,
    text::{write_cell, write_json},
};

/// Writes rows as lines.
#[derive(Debug)]
pub(super) struct LineWriter {
    kind: Kind,
    /// The row or the cell that is being written.
    line: Vec<u8>,
}

#[derive(Debug)]
enum Kind {
    Csv(Box<csv::Writer<Sink>>),
    Ndjson,
    Json { has_rows: bool },
}

impl LineWriter {
    pub(super) fn csv(schema: &Schema, sink: Sink) -> Result<Self, TableError> {
        let mut writer = WriterBuilder::new().from_writer(sink);
        writer.write_record(schema.columns().iter().map(|column| &*column.name))?;
        Ok(Self { kind: Kind::Csv(Box::new(writer)), line: Vec::new() })
    }

    pub(super) fn ndjson() -> Self {
        Self { kind: Kind::Ndjson, line: Vec::new() }
    }

    pub(super) fn json() -> Self {
        Self { kind: Kind::Json { has_rows: false }, line: Vec::new() }
    }

    pub(super) fn push(
        &mut self,
        columns: &[Column],
        row: &[Value<'_>],
        sink: &Sink,
    ) -> Result<(), TableError> {
        let line = &mut self.line;
        line.clear();
        match &mut self.kind {
            Kind::Csv(writer) => {
                for (column, value) in columns.iter().zip(row) {
                    line.clear();
                    write_cell(line, column, *value)?;
                    writer.write_field(&*line)?;
                }
                writer.write_record(None::<&[u8]>)?;
            }
            Kind::Ndjson => {
                write_row(line, columns, row)?;
                line.push(b'\n');
                sink.append(line);
            }
            Kind::Json { has_rows } => {
                line.extend_from_slice(if *has_rows { b",\n" } else { b"[" });
                write_row(line, columns, row)?;
                *has_rows = true;
                sink.append(line);
            }
        }
        Ok(())
    }

    pub(super) fn finish(self, sink: &Sink) -> Result<(), TableError> {
        match self.kind {
            Kind::Csv(mut writer) => writer.flush()?,
            Kind::Ndjson => {}
            Kind::Json { has_rows } => sink.append(if has_rows { b"]\n" } else { b"[]\n" }),
        }
        Ok(())
    }
}

fn write_row(line: &mut Vec<u8>, columns: &[Column], row: &[Value<'_>]) -> Result<(), TableError> {
    for (at, (column, value)) in columns.iter().zip(row).enumerate() {
        line.push(if at == 0 { b'{' } else { b',' });
        serde_json::to_writer(&mut *line, &*column.name)?;
        line.push(b':');
        write_json(line, column, *value)?;
    }
    line.push(b'}');
    Ok(())
}

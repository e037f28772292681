//! Reading tables row by row: CSV, NDJSON and Parquet.

mod csv;
mod ndjson;
mod parquet;

use std::{fs::File, path::Path, sync::Arc};

use serde_json::value::RawValue;

use self::{csv::CsvReader, ndjson::NdjsonReader, parquet::ParquetReader};
use crate::{Format, TableError};

/// The longest row that is read, in bytes of NDJSON or of its names and values in JSON; a longer one is a faulty row.
pub const ROW_BYTES_MAX: usize = 1 << 20;

/// A value of a row that is not null.
#[derive(Debug, Clone)]
pub struct Field {
    /// The name of its column.
    pub name: Arc<str>,
    /// The value in JSON. Values of CSV are texts.
    pub value: Box<RawValue>,
}

/// A row of a file.
#[derive(Debug, Clone)]
pub struct ReadRow {
    /// Its number; the first one is 1.
    pub number: u64,
    /// Its values in the order of the file, without those that are null or empty cells of CSV.
    pub fields: Result<Vec<Field>, FaultyRow>,
}

/// A row that cannot be read; those after it can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultyRow {
    /// What is wrong with it.
    pub reason: String,
    /// Its text, as far as it is one; at most 1 MiB of it.
    pub text: String,
}

/// Reads the rows of a file in order, in bounded memory.
#[derive(Debug)]
pub struct TableReader {
    rows_read: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Csv(CsvReader),
    Ndjson(NdjsonReader),
    Parquet(Box<ParquetReader>),
}

impl TableReader {
    /// Opens a file.
    ///
    /// # Errors
    /// When it cannot be opened, has no head of its format, or columns of types that are not supported.
    pub fn open(path: &Path, format: Format) -> Result<Self, TableError> {
        let file = File::open(path)?;
        let kind = match format {
            Format::Csv => Kind::Csv(CsvReader::new(file)?),
            Format::Ndjson => Kind::Ndjson(NdjsonReader::new(file)),
            Format::Parquet => Kind::Parquet(Box::new(ParquetReader::new(file)?)),
            Format::Json | Format::Arrow => return Err(TableError::NotReadable(format.name())),
        };
        Ok(Self { rows_read: 0, kind })
    }

    /// The columns, where the file names them before its rows (CSV and Parquet).
    pub fn columns(&self) -> Option<&[Arc<str>]> {
        match &self.kind {
            Kind::Csv(reader) => Some(reader.columns()),
            Kind::Ndjson(_) => None,
            Kind::Parquet(reader) => Some(reader.columns()),
        }
    }

    /// The next row; none at the end.
    ///
    /// # Errors
    /// When the file cannot be read any further.
    pub fn next_row(&mut self) -> Result<Option<ReadRow>, TableError> {
        let fields = match &mut self.kind {
            Kind::Csv(reader) => reader.next_row()?,
            Kind::Ndjson(reader) => reader.next_row()?,
            Kind::Parquet(reader) => reader.next_row()?,
        };
        let Some(fields) = fields else { return Ok(None) };
        self.rows_read += 1;
        let fields = fields.and_then(within_limit).map_err(FaultyRow::cut);
        Ok(Some(ReadRow { number: self.rows_read, fields }))
    }
}

fn within_limit(fields: Vec<Field>) -> Result<Vec<Field>, FaultyRow> {
    let bytes: usize = fields.iter().map(|it| it.name.len() + it.value.get().len()).sum();
    if bytes <= ROW_BYTES_MAX {
        return Ok(fields);
    }
    let mut text = String::new();
    for field in &fields {
        let value = field.value.get();
        let (begin, _) = value.split_at(value.floor_char_boundary(ROW_BYTES_MAX));
        text = [&text, &*field.name, ": ", begin, ", "].concat();
        if text.len() > ROW_BYTES_MAX {
            break;
        }
    }
    Err(FaultyRow { reason: too_long(), text })
}

fn too_long() -> String {
    format!("is longer than {ROW_BYTES_MAX} bytes")
}

impl FaultyRow {
    /// As much of it as is kept.
    fn cut(mut self) -> Self {
        self.text.truncate(self.text.floor_char_boundary(ROW_BYTES_MAX));
        self
    }
}

#[cfg(test)]
mod tests;

//! Rows of CSV below a line of column names.

use std::{fs::File, io::BufReader, sync::Arc};

use csv::{Reader, ReaderBuilder, StringRecord};
use serde_json::value::to_raw_value;

use super::{FaultyRow, Field};
use crate::TableError;

/// A mark that some programs put before UTF-8.
const BYTE_ORDER_MARK: char = '\u{feff}';

#[derive(Debug)]
pub(super) struct CsvReader {
    reader: Reader<BufReader<File>>,
    columns: Vec<Arc<str>>,
    record: StringRecord,
}

impl CsvReader {
    pub(super) fn new(file: File) -> Result<Self, TableError> {
        let mut reader = ReaderBuilder::new().flexible(true).from_reader(BufReader::new(file));
        let columns = reader
            .headers()?
            .iter()
            .map(|name| Arc::from(name.trim_start_matches(BYTE_ORDER_MARK)))
            .collect();
        Ok(Self { reader, columns, record: StringRecord::new() })
    }

    pub(super) fn columns(&self) -> &[Arc<str>] {
        &self.columns
    }

    pub(super) fn next_row(&mut self) -> Result<Option<Result<Vec<Field>, FaultyRow>>, TableError> {
        match self.reader.read_record(&mut self.record) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) if matches!(error.kind(), csv::ErrorKind::Utf8 { .. }) => {
                let reason = "is not UTF-8".to_owned();
                return Ok(Some(Err(FaultyRow { reason, text: String::new() })));
            }
            Err(error) => return Err(error.into()),
        }
        let (cells, columns) = (self.record.len(), self.columns.len());
        if cells != columns {
            let reason = format!("has {cells} cells, the first line {columns}");
            let text = self.record.iter().collect::<Vec<_>>().join(",");
            return Ok(Some(Err(FaultyRow { reason, text })));
        }
        let mut fields = Vec::with_capacity(columns);
        for (name, cell) in self.columns.iter().zip(&self.record) {
            if !cell.is_empty() {
                fields.push(Field { name: Arc::clone(name), value: to_raw_value(cell)? });
            }
        }
        Ok(Some(Ok(fields)))
    }
}

//! What can go wrong between rows and files.

use thiserror::Error;

/// Why a table could not be written or read.
#[derive(Debug, Error)]
pub enum TableError {
    /// A row has more or fewer values than the table has columns.
    #[error("a row has {values} values, the table {columns} columns")]
    RowLength {
        /// Values of the row.
        values: usize,
        /// Columns of the table.
        columns: usize,
    },
    /// A value is not of the type of its column, or is missing where it is required.
    #[error("the column {column} cannot hold this value: {value}")]
    WrongType {
        /// Name of the column.
        column: String,
        /// The value, as debugging shows it.
        value: String,
    },
    /// The format cannot be read; others can.
    #[error("a table in the format {0} cannot be read: use csv, ndjson or parquet")]
    NotReadable(&'static str),
    /// A column of a Parquet file has a type that is not understood.
    #[error("the column {column} has the type {kind}, which is not supported")]
    UnsupportedColumn {
        /// Name of the column.
        column: String,
        /// Its type in words of Arrow.
        kind: String,
    },
    /// The file or the writer under it failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is no CSV, or breaks off.
    #[error("CSV: {0}")]
    Csv(#[from] csv::Error),
    /// The value cannot be written as JSON, or the file is no JSON.
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The file is no Parquet, or breaks off.
    #[error("Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The columns cannot be put together.
    #[error("Arrow: {0}")]
    Arrow(#[from] arrow_schema::ArrowError),
}

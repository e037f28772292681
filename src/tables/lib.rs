//! Tables as files: CSV, NDJSON, JSON, Parquet and streams of Arrow, written and read row by row in bounded memory.
//!
//! A table has a [`Schema`] of named, typed columns. Writing:
//!
//! ```
//! use tables::{Column, ColumnType, Format, Schema, TableWriter, Value};
//!
//! let schema = Schema::new([
//!     Column::required("label", ColumnType::Text),
//!     Column::nullable("value", ColumnType::Number),
//! ]);
//! let mut writer = TableWriter::new(Format::Csv, schema)?;
//! writer.push(&[Value::Text("Revenue"), Value::Number(49.9)])?;
//! writer.push(&[Value::Text("Orders"), Value::Null])?;
//! let whole = writer.finish()?;
//! assert_eq!(whole, "label,value\nRevenue,49.9\nOrders,\n");
//! # Ok::<(), tables::TableError>(())
//! ```
//!
//! A long table is sent in pieces: after some rows take what is ready ([`TableWriter::take`]), and at the end what
//! [`TableWriter::finish`] gives. A Parquet file becomes ready a row group at a time.
//!
//! The format of an answer: `?format=` is read as a word of [`Format::words`]; without it,
//! [`Format::accepted`] reads the header `Accept`. The header of the answer is [`Format::media_type`].
//!
//! [`TableReader`] reads CSV, NDJSON and Parquet; each value comes as JSON.

#![warn(missing_docs)]

mod error;
mod format;
mod read;
mod schema;
mod text;
mod value;
mod write;

pub use self::{
    error::TableError,
    format::Format,
    read::{FaultyRow, Field, ROW_BYTES_MAX, ReadRow, TableReader},
    schema::{Column, ColumnType, Schema},
    value::Value,
    write::TableWriter,
};

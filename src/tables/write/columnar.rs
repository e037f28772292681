//! Parquet files and streams of Arrow.

use arrow_ipc::writer::StreamWriter;
use parquet::{
    arrow::ArrowWriter,
    basic::Compression,
    file::properties::{EnabledStatistics, WriterProperties},
};

use super::{columns::Columns, sink::Sink};
use crate::{Schema, TableError, Value};

/// Rows of a batch, at most.
const BATCH_ROWS_MAX: usize = 8_192;
/// A batch ends with the row that reaches so many bytes.
const BATCH_BYTES: usize = 4 << 20;
/// A row group of Parquet ends with the batch that reaches so many bytes; it is held until then.
const ROW_GROUP_BYTES: usize = 16 << 20;

/// Collects rows into batches and writes these.
#[derive(Debug)]
pub(super) struct ColumnarWriter {
    columns: Columns,
    kind: Kind,
}

enum Kind {
    Parquet(ArrowWriter<Sink>),
    Arrow(StreamWriter<Sink>),
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Parquet(_) => "Parquet",
            Self::Arrow(_) => "Arrow",
        })
    }
}

impl ColumnarWriter {
    pub(super) fn parquet(schema: &Schema, sink: Sink) -> Result<Self, TableError> {
        let columns = Columns::new(schema)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .build();
        let writer = ArrowWriter::try_new(sink, columns.schema(), Some(properties))?;
        Ok(Self { columns, kind: Kind::Parquet(writer) })
    }

    pub(super) fn arrow(schema: &Schema, sink: Sink) -> Result<Self, TableError> {
        let columns = Columns::new(schema)?;
        let writer = StreamWriter::try_new(sink, &columns.schema())?;
        Ok(Self { columns, kind: Kind::Arrow(writer) })
    }

    pub(super) fn push(&mut self, row: &[Value<'_>]) -> Result<(), TableError> {
        self.columns.push(row)?;
        if self.columns.rows() >= BATCH_ROWS_MAX || self.columns.bytes() >= BATCH_BYTES {
            self.write_batch()?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> Result<(), TableError> {
        if self.columns.rows() == 0 {
            return Ok(());
        }
        let batch = self.columns.take()?;
        match &mut self.kind {
            Kind::Arrow(writer) => writer.write(&batch)?,
            Kind::Parquet(writer) => {
                writer.write(&batch)?;
                if writer.in_progress_size() >= ROW_GROUP_BYTES {
                    writer.flush()?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), TableError> {
        self.write_batch()?;
        match self.kind {
            Kind::Arrow(mut writer) => writer.finish()?,
            Kind::Parquet(writer) => {
                writer.close()?;
            }
        }
        Ok(())
    }
}

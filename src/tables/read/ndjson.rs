//! Rows of NDJSON: an object a line; empty lines are left out.

use std::{
    borrow::Cow,
    fmt,
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
    sync::Arc,
};

use serde::{
    Deserialize,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{FaultyRow, Field, ROW_BYTES_MAX, too_long};
use crate::TableError;

#[derive(Debug)]
pub(super) struct NdjsonReader {
    reader: BufReader<File>,
    line: Vec<u8>,
}

/// The members of an object in their order.
struct Members(Vec<Field>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfObject;
        impl<'de> Visitor<'de> for OfObject {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry::<Cow<'de, str>, Box<RawValue>>()? {
                    if value.get() != "null" {
                        fields.push(Field { name: Arc::from(&*name), value });
                    }
                }
                Ok(Members(fields))
            }
        }
        deserializer.deserialize_map(OfObject)
    }
}

impl NdjsonReader {
    pub(super) fn new(file: File) -> Self {
        Self { reader: BufReader::new(file), line: Vec::new() }
    }

    pub(super) fn next_row(&mut self) -> Result<Option<Result<Vec<Field>, FaultyRow>>, TableError> {
        loop {
            let Some(is_whole) = self.read_line()? else { return Ok(None) };
            let faulty = |reason: String, line: &[u8]| {
                let text = String::from_utf8_lossy(line).into_owned();
                Ok(Some(Err(FaultyRow { reason, text })))
            };
            if !is_whole {
                return faulty(too_long(), &self.line);
            }
            let line = self.line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            return match serde_json::from_slice::<Members>(line) {
                Ok(Members(fields)) => Ok(Some(Ok(fields))),
                Err(error) => faulty(format!("is no object in JSON: {error}"), line),
            };
        }
    }

    /// Reads a line; none at the end of the file. False: it is longer than it may, and its rest was left out.
    fn read_line(&mut self) -> io::Result<Option<bool>> {
        self.line.clear();
        let limit = ROW_BYTES_MAX as u64 + 1;
        if self.reader.by_ref().take(limit).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        if self.line.len() <= ROW_BYTES_MAX || self.line.ends_with(b"\n") {
            return Ok(Some(true));
        }
        loop {
            let buffered = self.reader.fill_buf()?;
            let end = buffered.iter().position(|byte| *byte == b'\n');
            let (used, is_over) = match end {
                Some(at) => (at + 1, true),
                None => (buffered.len(), buffered.is_empty()),
            };
            self.reader.consume(used);
            if is_over {
                return Ok(Some(false));
            }
        }
    }
}

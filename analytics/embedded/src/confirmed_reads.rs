//! Statements that the engine's parser has found to change nothing, also with `INTO OUTFILE` written in.
//!
//! Parsing a report's statement takes 2 ms, and it is parsed twice before it runs. Most statements are asked again and again with
//! other parameters, which are not part of the text.

use bytes::Bytes;
use moka::sync::Cache;

use crate::session::{Session, Setting};

/// Bytes of all statements together.
const BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Bytes of text of the longest statement and its settings. Few longer ones are asked twice.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a statement besides its texts, more or less, and those of each setting.
const ENTRY_BYTES: usize = 512;
const SETTING_BYTES: usize = 128;

/// A statement as it was sent, and everything else that its parsing depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Read {
    text: Bytes,
    format: String,
    settings: Vec<Setting>,
}

impl Read {
    pub(crate) fn new(text: &Bytes, format: &str, session: &Session) -> Self {
        let settings = session.settings.iter().filter(|it| it.name != Session::MARK).cloned();
        Self { text: text.clone(), format: format.to_owned(), settings: settings.collect() }
    }

    fn text_bytes(&self) -> usize {
        let settings = self.settings.iter().map(|it| it.name.len() + it.value.len());
        self.text.len() + self.format.len() + settings.sum::<usize>()
    }
}

/// The statements that are asked often.
#[derive(Debug, Clone)]
pub(crate) struct ConfirmedReads(Cache<Read, ()>);

impl ConfirmedReads {
    pub(crate) fn new() -> Self {
        let weight = |read: &Read, (): &()| {
            let bytes = ENTRY_BYTES + SETTING_BYTES * read.settings.len() + read.text_bytes();
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().weigher(weight).max_capacity(BYTES_MAX).build())
    }

    pub(crate) fn contains(&self, read: &Read) -> bool {
        // Unlike `contains_key`, this notes that it was used.
        self.0.get(read).is_some()
    }

    pub(crate) fn insert(&self, read: Read) {
        if read.text_bytes() <= TEXT_BYTES_MAX {
            // The text may be a part of a larger buffer, which must not stay.
            let text = Bytes::copy_from_slice(&read.text);
            self.0.insert(Read { text, ..read }, ());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(settings: &[(&str, &str)]) -> Session {
        let setting = |it: &(&str, &str)| Setting { name: it.0.to_owned(), value: it.1.to_owned() };
        Session {
            database: "d".to_owned(),
            role: None,
            settings: settings.iter().map(setting).collect(),
            params: Vec::new(),
        }
    }

    #[test]
    fn a_statement_is_known_with_its_text_format_and_settings() {
        let reads = ConfirmedReads::new();
        let text = Bytes::from_static(b"SELECT 1");
        let plain = session(&[("log_comment", "id1"), ("max_threads", "2")]);
        reads.insert(Read::new(&text, "TSV", &plain));
        let marked_otherwise = session(&[("log_comment", "id2"), ("max_threads", "2")]);
        assert!(reads.contains(&Read::new(&text, "TSV", &marked_otherwise)));
        assert!(!reads.contains(&Read::new(&text, "CSV", &plain)));
        assert!(!reads.contains(&Read::new(&Bytes::from_static(b"SELECT 2"), "TSV", &plain)));
        let other_dialect = session(&[("max_threads", "2"), ("dialect", "prql")]);
        assert!(!reads.contains(&Read::new(&text, "TSV", &other_dialect)));
    }

    #[test]
    fn a_text_beyond_the_limit_is_not_kept() {
        let reads = ConfirmedReads::new();
        let plain = session(&[]);
        let of = |bytes: usize| Read::new(&vec![b'x'; bytes - "TSV".len()].into(), "TSV", &plain);
        for (bytes, is_kept) in [(TEXT_BYTES_MAX, true), (TEXT_BYTES_MAX + 1, false)] {
            reads.insert(of(bytes));
            assert_eq!(reads.contains(&of(bytes)), is_kept, "{bytes}");
        }
    }
}

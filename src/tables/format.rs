//! The formats of tables: their names, media types and endings of files.

use std::path::Path;

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// One array with an object a row.
    Json,
    /// One object a row, each in a line of its own.
    Ndjson,
    /// Comma-separated values below a line of column names (RFC 4180).
    Csv,
    /// A Parquet file, compressed with Snappy.
    Parquet,
    /// The stream format of Arrow IPC.
    Arrow,
}

use Format::{Arrow, Csv, Json, Ndjson, Parquet};

/// All formats in the order of lists.
const ALL: [Format; 5] = [Json, Ndjson, Csv, Parquet, Arrow];

impl Format {
    /// Its name in `?format=` and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Json => "json",
            Ndjson => "ndjson",
            Csv => "csv",
            Parquet => "parquet",
            Arrow => "arrow",
        }
    }

    /// Its media type, for `Content-Type` and `Accept`.
    pub const fn media_type(self) -> &'static str {
        match self {
            Json => "application/json",
            Ndjson => "application/x-ndjson",
            Csv => "text/csv",
            Parquet => "application/vnd.apache.parquet",
            Arrow => "application/vnd.apache.arrow.stream",
        }
    }

    /// The ending of its files, without the dot.
    pub const fn extension(self) -> &'static str {
        self.name()
    }

    /// Names with their formats, for readers of query strings: a list of what an endpoint offers.
    pub const fn words<const N: usize>(offered: [Self; N]) -> [(&'static str, Self); N] {
        let mut words = [("", Json); N];
        let mut at = 0;
        while at < N {
            words[at] = (offered[at].name(), offered[at]);
            at += 1;
        }
        words
    }

    /// The format that a file's name ends in; `.jsonl` is NDJSON, too.
    pub fn of_path(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        if ending == "jsonl" {
            return Some(Ndjson);
        }
        ALL.into_iter().find(|format| format.extension() == ending)
    }

    /// The format that a header `Accept` prefers among those offered; none where it prefers anything, or
    /// something that is not offered: then the endpoint's default is the answer.
    pub fn accepted(accept: &str, offered: &[Self]) -> Option<Self> {
        let mut best: Option<(Option<Self>, f32)> = None;
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let weight = parts
                .filter_map(|parameter| parameter.split_once('='))
                .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
                .map_or(1.0, |(_, weight)| weight.trim().parse::<f32>().unwrap_or(0.0));
            let named = offered.iter().find(|it| it.media_type().eq_ignore_ascii_case(media));
            let is_known = named.is_some() || media.ends_with("/*");
            if is_known && weight > 0.0 && best.is_none_or(|(_, most)| weight > most) {
                best = Some((named.copied(), weight));
            }
        }
        best.and_then(|(format, _)| format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_says_its_format() {
        let table = [
            ("a.csv", Some(Csv)),
            ("a.b.NDJSON", Some(Ndjson)),
            ("a.jsonl", Some(Ndjson)),
            ("/x/a.parquet", Some(Parquet)),
            ("a.arrow", Some(Arrow)),
            ("a.txt", None),
            ("csv", None),
        ];
        for (path, format) in table {
            assert_eq!(Format::of_path(Path::new(path)), format, "{path}");
        }
    }

    #[test]
    fn the_preferred_media_type_that_is_offered_is_answered() {
        let offered = [Ndjson, Csv, Parquet];
        let table = [
            ("text/csv", Some(Csv)),
            ("TEXT/CSV; charset=utf-8", Some(Csv)),
            ("application/vnd.apache.parquet, text/csv", Some(Parquet)),
            ("application/vnd.apache.parquet;q=0.1, text/csv;q=0.8", Some(Csv)),
            ("text/html, application/xhtml+xml, */*;q=0.8", None),
            ("*/*", None),
            ("*/*;q=0.5, text/csv", Some(Csv)),
            ("text/csv;q=0", None),
            ("text/csv;q=x", None),
            ("application/vnd.apache.arrow.stream", None),
            ("", None),
        ];
        for (accept, format) in table {
            assert_eq!(Format::accepted(accept, &offered), format, "{accept}");
        }
    }

    #[test]
    fn words_name_what_is_offered() {
        const WORDS: [(&str, Format); 2] = Format::words([Ndjson, Csv]);
        assert_eq!(WORDS, [("ndjson", Ndjson), ("csv", Csv)]);
    }
}

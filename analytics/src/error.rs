//! What can go wrong between a question and its answer, sorted by what a caller can do about it.

use thiserror::Error;

/// ClickHouse's numbers for the failures that callers treat apart.
/// Source: `src/Common/ErrorCodes.cpp` of ClickHouse.
mod code {
    pub(super) const TABLE_ALREADY_EXISTS: u32 = 57;
    pub(super) const UNKNOWN_TABLE: u32 = 60;
    pub(super) const UNKNOWN_DATABASE: u32 = 81;
    pub(super) const TOO_MANY_ROWS: u32 = 158;
    pub(super) const TIMEOUT_EXCEEDED: u32 = 159;
    pub(super) const TOO_SLOW: u32 = 160;
    pub(super) const TOO_MANY_SIMULTANEOUS_QUERIES: u32 = 202;
    pub(super) const SOCKET_TIMEOUT: u32 = 209;
    pub(super) const NETWORK_ERROR: u32 = 210;
    pub(super) const ABORTED: u32 = 236;
    pub(super) const MEMORY_LIMIT_EXCEEDED: u32 = 241;
    pub(super) const TABLE_IS_READ_ONLY: u32 = 242;
    pub(super) const ALL_CONNECTION_TRIES_FAILED: u32 = 279;
    pub(super) const TOO_MANY_BYTES: u32 = 307;
    pub(super) const TOO_MANY_ROWS_OR_BYTES: u32 = 396;
    pub(super) const SERVER_OVERLOADED: u32 = 745;
}

/// Everything the analytics crate answers instead of an answer.
#[derive(Debug, Error)]
pub enum AnalyticsError {
    /// ClickHouse cannot be reached, or says that it cannot serve now. Trying again may help.
    #[error("clickhouse is unavailable")]
    Unavailable(#[source] clickhouse::error::Error),
    /// All statements together use the memory that ClickHouse may have. Trying again may help.
    #[error("clickhouse has no memory to spare")]
    OutOfMemory(#[source] clickhouse::error::Error),
    /// ClickHouse did not answer in time ([`crate::ReadLimits::time_max`]): it hangs, or is slow. Trying again may help.
    #[error("clickhouse did not answer in time")]
    Late,
    /// More questions wait for their turn than may ([`crate::ReadLimits::waiting_max`]). Trying again may help.
    #[error("too many questions wait for clickhouse")]
    Busy,
    /// The question ran longer than [`crate::ReadLimits::execution_seconds`].
    #[error("the question took longer than it may")]
    Timeout(#[source] clickhouse::error::Error),
    /// The question would read, hold or return more than [`crate::client`] allows.
    #[error("the question asks for more than may be read at once")]
    TooMuch(#[source] clickhouse::error::Error),
    /// The address is not one of a ClickHouse HTTP interface.
    #[error("not a clickhouse address: {0}")]
    Address(String),
    /// The store's schema is not what this program was built for.
    #[error("clickhouse schema: {0}")]
    Schema(String),
    /// ClickHouse answered something that this crate did not expect.
    #[error("unexpected answer of clickhouse: {0}")]
    Answer(String),
    /// As many exports run as may at one time; the text is for the caller.
    #[error("{0}")]
    TooManyExports(&'static str),
    /// The question itself cannot be answered; the text says why.
    #[error("{0}")]
    Question(&'static str),
    /// Too much of what people did would have to be held at once.
    #[error(
        "a 64th of these people have more than {max} {of}: ask for a shorter range, fewer people or rarer events"
    )]
    TooLongHistories {
        /// Most that may be held.
        max: usize,
        /// What there is too much of.
        of: &'static str,
    },
    /// Any other refusal: a fault of ours, or of the engine.
    #[error("clickhouse refused a statement")]
    Other(#[source] clickhouse::error::Error),
}

impl AnalyticsError {
    /// The word under which a failure is counted (`millrace_clickhouse_errors_total{kind}`).
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::OutOfMemory(_) => "out_of_memory",
            Self::Late => "late",
            Self::Busy | Self::TooManyExports(_) => "busy",
            Self::Timeout(_) => "timeout",
            Self::TooMuch(_) | Self::TooLongHistories { .. } => "too_much",
            Self::Address(_)
            | Self::Schema(_)
            | Self::Answer(_)
            | Self::Question(_)
            | Self::Other(_) => "other",
        }
    }

    /// True when the database or the table asked is not there yet.
    pub(crate) fn is_missing_table(&self) -> bool {
        let Self::Other(clickhouse::error::Error::BadResponse(text)) = self else {
            return false;
        };
        matches!(exception_code(text), Some(code::UNKNOWN_TABLE | code::UNKNOWN_DATABASE))
    }
}

impl AnalyticsError {
    /// True when a table could not be renamed because another process had done it.
    pub(crate) fn is_lost_race(&self) -> bool {
        let Self::Other(clickhouse::error::Error::BadResponse(text)) = self else {
            return false;
        };
        let code = exception_code(text);
        matches!(code, Some(code::UNKNOWN_TABLE | code::TABLE_ALREADY_EXISTS))
    }
}

impl From<clickhouse::error::Error> for AnalyticsError {
    fn from(error: clickhouse::error::Error) -> Self {
        use clickhouse::error::Error as Client;
        match &error {
            Client::Network(_) => Self::Unavailable(error),
            Client::TimedOut => Self::Timeout(error),
            Client::BadResponse(text) => match exception_code(text) {
                Some(code::TIMEOUT_EXCEEDED | code::TOO_SLOW) => Self::Timeout(error),
                Some(code::MEMORY_LIMIT_EXCEEDED) if is_of_all_statements(text) => {
                    Self::OutOfMemory(error)
                }
                Some(
                    code::TOO_MANY_ROWS
                    | code::TOO_MANY_BYTES
                    | code::TOO_MANY_ROWS_OR_BYTES
                    | code::MEMORY_LIMIT_EXCEEDED,
                ) => Self::TooMuch(error),
                Some(
                    code::TOO_MANY_SIMULTANEOUS_QUERIES
                    | code::SOCKET_TIMEOUT
                    | code::NETWORK_ERROR
                    | code::ABORTED
                    | code::TABLE_IS_READ_ONLY
                    | code::ALL_CONNECTION_TRIES_FAILED
                    | code::SERVER_OVERLOADED,
                ) => Self::Unavailable(error),
                None if is_gateway_refusal(text) => Self::Unavailable(error),
                _ => Self::Other(error),
            },
            _ => Self::Other(error),
        }
    }
}

/// Reads ClickHouse's exception code out of its text (`Code: 159. DB::Exception: …`).
pub fn exception_code(text: &str) -> Option<u32> {
    let (_, after) = text.split_once("Code: ")?;
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    after.get(..end)?.parse().ok()
}

/// Whether the limit that a statement met is the one of the server, not its own.
/// Source: `MemoryTracker::allocImpl` in `src/Common/MemoryTracker.cpp` of ClickHouse, and of older releases.
fn is_of_all_statements(text: &str) -> bool {
    ["(total) memory limit exceeded", "Memory limit (total) exceeded"]
        .iter()
        .any(|of_server| text.contains(of_server))
}

/// True for the bare status lines that the client reports when the answer has no body:
/// a proxy or a front that has no ClickHouse behind it at the moment.
fn is_gateway_refusal(text: &str) -> bool {
    ["502 ", "503 ", "504 "].iter().any(|status| text.starts_with(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(text: &str) -> &'static str {
        AnalyticsError::from(clickhouse::error::Error::BadResponse(text.to_owned())).kind()
    }

    #[test]
    fn an_exception_code_decides_the_kind_of_a_failure() {
        let cases = [
            ("Code: 159. DB::Exception: Timeout exceeded: elapsed 10.1 s", "timeout"),
            ("Code: 160. DB::Exception: Estimated query execution time", "timeout"),
            ("Code: 158. DB::Exception: Limit for rows to read exceeded", "too_much"),
            ("Code: 241. DB::Exception: Query memory limit exceeded", "too_much"),
            (
                "Code: 241. DB::Exception: Memory limit (total) exceeded: would use 2 GiB",
                "out_of_memory",
            ),
            (
                "Code: 241. DB::Exception: (total) memory limit exceeded: would use 2 GiB",
                "out_of_memory",
            ),
            ("Code: 202. DB::Exception: Too many simultaneous queries", "unavailable"),
            ("503 Service Unavailable", "unavailable"),
            ("Code: 60. DB::Exception: Unknown table expression identifier 'events'", "other"),
            ("something else", "other"),
        ];
        for (text, kind) in cases {
            assert_eq!(kind_of(text), kind, "{text}");
        }
    }

    #[test]
    fn a_text_without_a_code_has_no_code() {
        assert_eq!(exception_code("Code: . DB::Exception"), None);
        assert_eq!(exception_code(""), None);
        assert_eq!(exception_code("Code: 81"), Some(81));
    }
}

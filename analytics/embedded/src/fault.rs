//! What went wrong, in ClickHouse's own numbers and words, and the HTTP status it gives that.

use http::StatusCode;

/// ClickHouse's error codes this crate raises itself. The engine raises the others.
pub(crate) mod code {
    pub(crate) const BAD_ARGUMENTS: u32 = 36;
    pub(crate) const NOT_IMPLEMENTED: u32 = 48;
    pub(crate) const SYNTAX_ERROR: u32 = 62;
    pub(crate) const UNKNOWN_SETTING: u32 = 115;
    pub(crate) const READONLY: u32 = 164;
    pub(crate) const TOO_MANY_SIMULTANEOUS_QUERIES: u32 = 202;
    pub(crate) const SOCKET_TIMEOUT: u32 = 209;
    pub(crate) const QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING: u32 = 216;
    pub(crate) const CANNOT_DECOMPRESS: u32 = 271;
    pub(crate) const NETWORK_ERROR: u32 = 210;
    pub(crate) const QUERY_WAS_CANCELLED: u32 = 394;
    pub(crate) const TOO_MANY_ROWS_OR_BYTES: u32 = 396;
    pub(crate) const AUTHENTICATION_FAILED: u32 = 516;
    pub(crate) const UNKNOWN_EXCEPTION: u32 = 1002;
}

/// One failure: ClickHouse's code and its whole text, `Code: 62. DB::Exception: …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: u32,
    pub(crate) text: String,
}

impl Fault {
    /// A failure of our own, written the way ClickHouse writes its failures.
    pub(crate) fn new(code: u32, name: &str, message: impl std::fmt::Display) -> Self {
        Self { code, text: format!("Code: {code}. DB::Exception: {message}. ({name})") }
    }

    /// The engine's text with the code read out of it.
    pub(crate) fn from_engine(text: &str) -> Self {
        let text = text.trim_end();
        match parse_code(text) {
            Some(code) => Self { code, text: text.to_owned() },
            None => Self {
                code: code::UNKNOWN_EXCEPTION,
                text: format!("Code: {}. DB::Exception: {text}", code::UNKNOWN_EXCEPTION),
            },
        }
    }

    /// The text as a client gets it: with the engine's version and a line feed at the end, as ClickHouse ends it.
    pub(crate) fn wire_text(&self, version: &str) -> String {
        if self.text.contains("(version ") {
            format!("{}\n", self.text)
        } else {
            format!("{} (version {version})\n", self.text)
        }
    }

    /// The status ClickHouse answers with for this code (its `exceptionCodeToHTTPStatus`).
    ///
    /// Two differ on purpose: a refused credential is always 401, and a full queue is 503 rather than 500, for a proxy's sake.
    pub(crate) fn status(&self) -> StatusCode {
        match self.code {
            // REQUIRED_PASSWORD, AUTHENTICATION_FAILED
            194 | 516 => StatusCode::UNAUTHORIZED,
            // UNKNOWN_USER, WRONG_PASSWORD, ACCESS_DENIED, SET_NON_GRANTED_ROLE
            192 | 193 | 497 | 512 => StatusCode::FORBIDDEN,
            // What cannot be parsed (CANNOT_PARSE_*, SYNTAX_ERROR, INCORRECT_DATA, the AST's), BAD_ARGUMENTS, and
            // columns and values that do not fit.
            6 | 8 | 15 | 25 | 26 | 27 | 36 | 37 | 38 | 41 | 44 | 53 | 62 | 72 | 117 | 123 | 167
            | 168 | 223 | 321 | 376 | 427 | 441 | 675 | 676 => StatusCode::BAD_REQUEST,
            // UNKNOWN_*: table, function, identifier, type, storage, database, setting, format, role, …
            46 | 47 | 50 | 56 | 60 | 63 | 73 | 78 | 81 | 115 | 152 | 336 | 511 => {
                StatusCode::NOT_FOUND
            }
            // QUERY_IS_TOO_LARGE
            229 => StatusCode::PAYLOAD_TOO_LARGE,
            // NOT_IMPLEMENTED
            48 => StatusCode::NOT_IMPLEMENTED,
            // SOCKET_TIMEOUT, CANNOT_OPEN_FILE, TOO_MANY_SIMULTANEOUS_QUERIES, CANNOT_SCHEDULE_TASK
            209 | 76 | 202 | 439 => StatusCode::SERVICE_UNAVAILABLE,
            // TIMEOUT_EXCEEDED
            159 => StatusCode::REQUEST_TIMEOUT,
            // HTTP_LENGTH_REQUIRED
            381 => StatusCode::LENGTH_REQUIRED,
            // UNSUPPORTED_MEDIA_TYPE
            779 => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

fn parse_code(text: &str) -> Option<u32> {
    let (digits, rest) = text.strip_prefix("Code: ")?.split_once('.')?;
    rest.starts_with(" DB::").then(|| digits.parse().ok())?
}

impl std::fmt::Display for Fault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.text)
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_read_out_of_the_engines_text() {
        let fault = Fault::from_engine(
            "Code: 60. DB::Exception: Table a.b does not exist. (UNKNOWN_TABLE)\n",
        );
        assert_eq!(fault.code, 60);
        assert_eq!(fault.status(), StatusCode::NOT_FOUND);
        assert_eq!(
            fault.wire_text("26.7.2.1"),
            "Code: 60. DB::Exception: Table a.b does not exist. (UNKNOWN_TABLE) (version 26.7.2.1)\n"
        );
    }

    #[test]
    fn text_without_a_code_becomes_an_unknown_exception() {
        let fault = Fault::from_engine("Invalid or closed connection");
        assert_eq!(fault.code, code::UNKNOWN_EXCEPTION);
        assert_eq!(fault.text, "Code: 1002. DB::Exception: Invalid or closed connection");
        assert_eq!(fault.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(Fault::from_engine("Code: x. DB::Exception").code, code::UNKNOWN_EXCEPTION);
    }

    #[test]
    fn a_version_already_there_is_not_written_twice() {
        let fault =
            Fault::from_engine("Code: 117. DB::Exception: no. (INCORRECT_DATA) (version 26.7.2.1)");
        assert_eq!(fault.wire_text("26.7.2.1").matches("version").count(), 1);
    }

    #[test]
    fn statuses_are_clickhouses() {
        for (code, status) in [
            (62, 400),
            (60, 404),
            (81, 404),
            (115, 404),
            (516, 401),
            (497, 403),
            (27, 400),
            (152, 404),
            (48, 501),
            (159, 408),
            (202, 503),
            (164, 500),
            (395, 500),
        ] {
            let fault = Fault { code, text: String::new() };
            assert_eq!(fault.status().as_u16(), status, "code {code}");
        }
    }
}

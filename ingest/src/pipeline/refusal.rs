//! Why an insert failed: because of the rows, or because of anything else.
//!
//! Codes are ClickHouse's (`src/Common/ErrorCodes.cpp`). Only codes that can come from the content of
//! a row are listed; every other failure is taken for a matter of time and tried again. A wrong guess
//! that way costs a delay and is seen in `millrace_clickhouse_errors_total`; the other way it would cost events.

/// Errors that the content of a row can cause, by ClickHouse's number.
const CONTENT_CODES: &[u16] = &[
    6,   // CANNOT_PARSE_TEXT
    25,  // CANNOT_PARSE_ESCAPE_SEQUENCE
    26,  // CANNOT_PARSE_QUOTED_STRING
    27,  // CANNOT_PARSE_INPUT_ASSERTION_FAILED
    29,  // CANNOT_PRINT_FLOAT_OR_DOUBLE_NUMBER
    32,  // ATTEMPT_TO_READ_AFTER_EOF
    33,  // CANNOT_READ_ALL_DATA
    38,  // CANNOT_PARSE_DATE
    41,  // CANNOT_PARSE_DATETIME
    43,  // ILLEGAL_TYPE_OF_ARGUMENT
    53,  // TYPE_MISMATCH
    69,  // ARGUMENT_OUT_OF_BOUND
    70,  // CANNOT_CONVERT_TYPE
    72,  // CANNOT_PARSE_NUMBER
    117, // INCORRECT_DATA
    128, // TOO_LARGE_ARRAY_SIZE
    131, // TOO_LARGE_STRING_SIZE
    190, // SIZES_OF_ARRAYS_DONT_MATCH
    248, // INVALID_PARTITION_VALUE
    321, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
    349, // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
    376, // CANNOT_PARSE_UUID
    395, // FUNCTION_THROW_IF_VALUE_IS_NON_ZERO
    407, // DECIMAL_OVERFLOW
    441, // CANNOT_PARSE_DOMAIN_VALUE_FROM_STRING
    467, // CANNOT_PARSE_BOOL
    469, // VIOLATED_CONSTRAINT
    691, // UNKNOWN_ELEMENT_OF_ENUM
];

/// What to do about a failed insert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The same rows will be refused again: find the bad ones.
    Content {
        /// The error code of ClickHouse's answer.
        code: u16,
        /// The message of ClickHouse's answer.
        reason: String,
    },
    /// Try again later. The word is the metric's `kind`.
    Transient(&'static str),
}

/// Sorts a failed insert.
pub(super) fn sort(error: &clickhouse::error::Error) -> Refusal {
    use clickhouse::error::Error;
    match error {
        Error::BadResponse(text) => sort_response(text),
        Error::TimedOut => Refusal::Transient("timeout"),
        Error::Network(_) => Refusal::Transient("network"),
        _ => Refusal::Transient("other"),
    }
}

fn sort_response(text: &str) -> Refusal {
    match exception_code(text) {
        Some(code) if CONTENT_CODES.contains(&code) => {
            Refusal::Content { code, reason: text.to_owned() }
        }
        Some(241 | 173) => Refusal::Transient("memory"),
        Some(252) => Refusal::Transient("too_many_parts"),
        Some(202 | 203 | 745) => Refusal::Transient("overloaded"),
        Some(159 | 160 | 209) => Refusal::Transient("timeout"),
        Some(243) => Refusal::Transient("disk_full"),
        Some(192..=195 | 497 | 516) => Refusal::Transient("denied"),
        Some(10 | 16 | 20 | 47 | 60 | 81) => Refusal::Transient("schema"),
        _ => Refusal::Transient("other"),
    }
}

/// ClickHouse's number in an error's text: `Code: 27. DB::Exception: …`.
fn exception_code(text: &str) -> Option<u16> {
    let (_, after) = text.split_once("Code: ")?;
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    after.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_sorted_by_clickhouses_code() {
        let content = |code, text: &str| Refusal::Content { code, reason: text.to_owned() };
        let table = [
            (
                "Code: 407. DB::Exception: overflow",
                content(407, "Code: 407. DB::Exception: overflow"),
            ),
            ("Code: 469", content(469, "Code: 469")),
            ("Code: 241. DB::Exception: Memory limit", Refusal::Transient("memory")),
            ("Code: 252. DB::Exception: Too many parts", Refusal::Transient("too_many_parts")),
            ("Code: 60. DB::Exception: Unknown table", Refusal::Transient("schema")),
            ("Code: 1002. DB::Exception: ?", Refusal::Transient("other")),
            ("503 Service Unavailable", Refusal::Transient("other")),
            ("Code: x", Refusal::Transient("other")),
            ("Code: 99999999. DB::Exception", Refusal::Transient("other")),
        ];
        for (text, expected) in table {
            assert_eq!(sort_response(text), expected, "{text}");
        }
    }
}

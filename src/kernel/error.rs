//! What can go wrong, said without HTTP: the envelope alone turns it into a response.

use std::{fmt, time::Duration};

use crate::store::{Store, StoreFault};

/// The result of everything that can be refused.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One field that broke a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Where: `variants[1].weight`; empty when the whole body is meant.
    pub path: String,
    /// What: `must be between 0 and 100`.
    pub problem: String,
}

impl FieldError {
    /// A problem with the field at `path`.
    pub fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.problem)
        } else {
            write!(f, "{} {}", self.path, self.problem)
        }
    }
}

/// A refusal or a failure. Texts are for the caller, except inside `Internal`, which stays here.
#[derive(Debug)]
pub enum Error {
    /// No such thing in the caller's workspace; names the noun (`User`).
    NotFound(&'static str),
    /// No route has this path.
    RouteNotFound,
    /// The route exists, not for this method.
    MethodNotAllowed,
    /// Fields broke rules: every one of them, in order.
    Invalid(Vec<FieldError>),
    /// One cause, named in the message.
    BadRequest {
        /// What is wrong, with limits and received sizes where it is about sizes.
        message: String,
        /// The same as a list.
        errors: Vec<String>,
    },
    /// No credential, or none that is valid; the text says no more than the caller may know.
    Unauthenticated(&'static str),
    /// A valid credential without the scope needed.
    Forbidden {
        /// The scope asked for (`events:write`).
        scope: &'static str,
        /// The channel that chose it, for suppressions.
        channel: Option<&'static str>,
    },
    /// A valid credential that does not reach this far; the text says why.
    Denied(&'static str),
    /// The state of things does not allow it.
    Conflict(String),
    /// The request did not arrive in time.
    RequestTimeout,
    /// A body over its limit, in bytes after decompression.
    TooLarge {
        /// Most bytes a body may have.
        limit: u64,
        /// Bytes received, where known.
        received: Option<u64>,
    },
    /// A body in a form not understood; names the form.
    UnsupportedMediaType(String),
    /// A rate limit was exceeded.
    Throttled {
        /// When to come back.
        retry_after: Duration,
    },
    /// As much of something as the caller may have is in use.
    TooMany {
        /// The whole message for the caller.
        what: &'static str,
        /// When to come back.
        retry_after: Duration,
    },
    /// Something needed is not there at the moment.
    Unavailable {
        /// The whole message for the caller.
        what: &'static str,
        /// When to come back, where that can be said.
        retry_after: Option<Duration>,
    },
    /// PostgreSQL or ClickHouse failed.
    Store(StoreFault),
    /// A bug, or an environment that is broken: logged in full, answered without details.
    Internal(anyhow::Error),
}

/// How grave an error is for the people who run the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The caller's mistake, or a limit of the caller.
    Refusal,
    /// Something needed is unavailable at the moment.
    Outage,
    /// A bug, or an environment that is broken.
    Fault,
}

/// When to come back after a store did not answer.
const STORE_RETRY_AFTER: Duration = Duration::from_secs(1);

impl Error {
    /// A single-cause refusal: a specific message, and the same in `errors`.
    pub fn bad_request(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::BadRequest { errors: vec![message.clone()], message }
    }

    /// A refusal of one field.
    pub fn invalid(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError::new(path, problem)])
    }

    /// A fault of ours, in words for the log.
    pub fn internal(context: impl fmt::Display + fmt::Debug + Send + Sync + 'static) -> Self {
        Self::Internal(anyhow::Error::msg(context))
    }

    /// PostgreSQL is unavailable; it was not asked, or did not answer in time.
    pub const fn store_unavailable() -> Self {
        Self::Store(StoreFault::Unavailable { store: Store::Postgres, cause: None })
    }

    /// Whether trying again later may help, without a change of the request.
    pub const fn is_unavailable(&self) -> bool {
        matches!(self.severity(), Severity::Outage)
    }

    /// How grave this is for the people who run the service.
    pub const fn severity(&self) -> Severity {
        match self {
            Self::Unavailable { .. } | Self::Store(StoreFault::Unavailable { .. }) => {
                Severity::Outage
            }
            Self::Internal(_) | Self::Store(StoreFault::LostRace(_) | StoreFault::Duplicate(_)) => {
                Severity::Fault
            }
            _ => Severity::Refusal,
        }
    }

    /// When to come back, where that can be said.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Throttled { retry_after } | Self::TooMany { retry_after, .. } => {
                Some(*retry_after)
            }
            Self::Unavailable { retry_after, .. } => *retry_after,
            Self::Store(StoreFault::Unavailable { .. }) => Some(STORE_RETRY_AFTER),
            _ => None,
        }
    }

    /// The text for the caller. The details of faults stay in the log ([`Display`](fmt::Display)).
    pub fn message(&self) -> String {
        match self {
            Self::Store(StoreFault::Unavailable { store, .. }) => match store {
                Store::Postgres => "The control-plane store is unavailable".to_owned(),
                Store::Clickhouse => "The analytics store is unavailable".to_owned(),
            },
            Self::Internal(_) | Self::Store(_) => "Internal Server Error".to_owned(),
            _ => self.to_string(),
        }
    }
}

/// For logs and for the command line's one plain line.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(noun) => write!(f, "{noun} not found"),
            Self::RouteNotFound => f.write_str("Not Found"),
            Self::MethodNotAllowed => f.write_str("Method Not Allowed"),
            Self::Invalid(fields) => {
                for (index, field) in fields.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    write!(f, "{separator}{field}")?;
                }
                Ok(())
            }
            Self::BadRequest { message, .. } | Self::Conflict(message) => f.write_str(message),
            Self::Unauthenticated(text) | Self::Denied(text) => f.write_str(text),
            Self::Forbidden { scope, channel: None } => {
                write!(f, "Missing required scope: {scope}")
            }
            Self::Forbidden { scope, channel: Some(channel) } => {
                write!(f, "Missing required scope: {scope} (channel {channel})")
            }
            Self::RequestTimeout => f.write_str("Request Timeout"),
            Self::TooLarge { limit, received: None } => {
                write!(f, "Request body is too large: the limit is {limit} bytes")
            }
            Self::TooLarge { limit, received: Some(received) } => write!(
                f,
                "Request body is too large: the limit is {limit} bytes, received {received} bytes"
            ),
            Self::UnsupportedMediaType(form) => f.write_str(form),
            Self::Throttled { .. } => f.write_str("Too Many Requests"),
            Self::TooMany { what, .. } | Self::Unavailable { what, .. } => f.write_str(what),
            Self::Store(fault) => fault.fmt(f),
            Self::Internal(fault) => write!(f, "{fault:#}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Internal(fault) => Some(fault.as_ref()),
            Self::Store(fault) => fault.cause().map(AsRef::as_ref),
            _ => None,
        }
    }
}

impl From<anyhow::Error> for Error {
    fn from(fault: anyhow::Error) -> Self {
        Self::Internal(fault)
    }
}

impl From<Vec<FieldError>> for Error {
    fn from(fields: Vec<FieldError>) -> Self {
        Self::Invalid(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_carry_their_data() {
        let table = [
            (Error::NotFound("User"), "User not found"),
            (
                Error::Forbidden { scope: "events:write", channel: None },
                "Missing required scope: events:write",
            ),
            (
                Error::Forbidden { scope: "sms_suppression:write", channel: Some("sms") },
                "Missing required scope: sms_suppression:write (channel sms)",
            ),
            (
                Error::TooLarge { limit: 10, received: Some(11) },
                "Request body is too large: the limit is 10 bytes, received 11 bytes",
            ),
            (
                Error::from(vec![
                    FieldError::new("a", "is required"),
                    FieldError::new("", "must be an object"),
                ]),
                "a is required; must be an object",
            ),
        ];
        for (error, text) in table {
            assert_eq!(error.to_string(), text);
        }
    }
}

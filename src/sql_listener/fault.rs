//! What went wrong, in ClickHouse's numbers and words.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use kernel::Error;
use web::http::OwnError;

use crate::headers::{EXCEPTION_CODE, NAME, SERVER_NAME};

/// ClickHouse's error codes that this crate raises itself. The engine raises others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Code {
    BadArguments = 36,
    NotImplemented = 48,
    UnknownTable = 60,
    SyntaxError = 62,
    UnknownFormat = 73,
    UnknownDatabase = 81,
    UnknownSetting = 115,
    Timeout = 159,
    Readonly = 164,
    TooManyQueries = 202,
    NetworkError = 210,
    QueryTooLarge = 229,
    SettingConstraint = 452,
    AccessDenied = 497,
    AuthenticationFailed = 516,
}

impl Code {
    const fn name(self) -> &'static str {
        match self {
            Self::BadArguments => "BAD_ARGUMENTS",
            Self::NotImplemented => "NOT_IMPLEMENTED",
            Self::UnknownTable => "UNKNOWN_TABLE",
            Self::SyntaxError => "SYNTAX_ERROR",
            Self::UnknownFormat => "UNKNOWN_FORMAT",
            Self::UnknownDatabase => "UNKNOWN_DATABASE",
            Self::UnknownSetting => "UNKNOWN_SETTING",
            Self::Timeout => "TIMEOUT_EXCEEDED",
            Self::Readonly => "READONLY",
            Self::TooManyQueries => "TOO_MANY_SIMULTANEOUS_QUERIES",
            Self::NetworkError => "NETWORK_ERROR",
            Self::QueryTooLarge => "QUERY_IS_TOO_LARGE",
            Self::SettingConstraint => "SETTING_CONSTRAINT_VIOLATION",
            Self::AccessDenied => "ACCESS_DENIED",
            Self::AuthenticationFailed => "AUTHENTICATION_FAILED",
        }
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::BadArguments | Self::SyntaxError | Self::SettingConstraint => {
                StatusCode::BAD_REQUEST
            }
            Self::UnknownTable
            | Self::UnknownFormat
            | Self::UnknownDatabase
            | Self::UnknownSetting => StatusCode::NOT_FOUND,
            Self::NotImplemented => StatusCode::NOT_IMPLEMENTED,
            Self::Timeout => StatusCode::REQUEST_TIMEOUT,
            Self::QueryTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Readonly | Self::AccessDenied => StatusCode::FORBIDDEN,
            Self::TooManyQueries | Self::NetworkError => StatusCode::SERVICE_UNAVAILABLE,
            Self::AuthenticationFailed => StatusCode::UNAUTHORIZED,
        }
    }

    /// Why a statement was refused, as it is counted.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::AuthenticationFailed => "credential",
            Self::AccessDenied => "access",
            Self::UnknownSetting | Self::SettingConstraint => "setting",
            Self::TooManyQueries => "busy",
            Self::NetworkError | Self::Timeout => "unavailable",
            Self::QueryTooLarge => "size",
            _ => "statement",
        }
    }
}

/// A refusal, in ClickHouse's form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Code: {}. DB::Exception: {message}. ({})", *code as u32, code.name())]
pub(crate) struct Fault {
    pub(crate) code: Code,
    message: String,
}

impl Fault {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Something beyond this interface.
    pub(crate) fn denied(message: impl Into<String>) -> Self {
        Self::new(Code::AccessDenied, message)
    }

    pub(crate) fn syntax(message: impl Into<String>) -> Self {
        Self::new(Code::SyntaxError, message)
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(Code::BadArguments, message)
    }

    pub(crate) fn not_implemented(message: impl Into<String>) -> Self {
        Self::new(Code::NotImplemented, message)
    }
}

/// Errors of the shared HTTP parts.
impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Unauthenticated(_) => Code::AuthenticationFailed,
            Error::Forbidden { .. } | Error::Denied(_) => Code::AccessDenied,
            Error::Throttled { .. } | Error::TooMany { .. } => Code::TooManyQueries,
            Error::TooLarge { .. } => Code::QueryTooLarge,
            Error::RequestTimeout => Code::Timeout,
            Error::UnsupportedMediaType(_) => Code::NotImplemented,
            Error::Unavailable { .. } | Error::Store(_) | Error::Internal(_) => Code::NetworkError,
            _ => Code::BadArguments,
        };
        if let Error::Internal(_) = &error {
            tracing::error!(%error, "a statement in SQL failed");
        }
        Self::new(code, error.message().trim_end_matches('.'))
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(format!("{self}\n")));
        *response.status_mut() = self.code.status();
        let headers = response.headers_mut();
        headers.insert(EXCEPTION_CODE, HeaderValue::from(self.code as u32));
        headers.insert(SERVER_NAME, HeaderValue::from_static(NAME));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=UTF-8"));
        match self.code {
            Code::AuthenticationFailed => {
                let value = "Basic realm=\"ClickHouse server HTTP API\"";
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(value));
            }
            Code::TooManyQueries | Code::NetworkError => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response.extensions_mut().insert(OwnError);
        response
    }
}

//! The status code of every error: one `match` without a wildcard, so that a new error must choose.

use http::StatusCode;
use kernel::{Error, store::StoreFault};

/// The status an error is answered with.
pub(super) fn of(error: &Error) -> StatusCode {
    match error {
        Error::NotFound(_) | Error::RouteNotFound => StatusCode::NOT_FOUND,
        Error::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Error::Invalid(_) | Error::BadRequest { .. } => StatusCode::BAD_REQUEST,
        Error::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Error::Forbidden { .. } | Error::Denied(_) => StatusCode::FORBIDDEN,
        Error::Conflict(_) => StatusCode::CONFLICT,
        Error::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
        Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Error::UnsupportedMediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Error::Throttled { .. } | Error::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
        Error::Unavailable { .. } | Error::Store(StoreFault::Unavailable { .. }) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Error::Internal(_) | Error::Store(StoreFault::LostRace(_) | StoreFault::Duplicate(_)) => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

/// Maps a status of the framework to one of the API: 422 becomes 400.
pub(super) fn folded(foreign: StatusCode) -> StatusCode {
    match foreign {
        StatusCode::UNPROCESSABLE_ENTITY
        | StatusCode::LENGTH_REQUIRED
        | StatusCode::URI_TOO_LONG
        | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => StatusCode::BAD_REQUEST,
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => StatusCode::SERVICE_UNAVAILABLE,
        other => other,
    }
}

/// The error text for bytes that are not a request, by the status of the HTTP library.
pub(super) fn words(foreign: StatusCode) -> &'static str {
    match foreign {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => "Request head is too large",
        StatusCode::URI_TOO_LONG => "Request path is too long",
        _ => "Malformed HTTP request",
    }
}

/// Whether a status is an error, which gets the envelope.
pub(super) fn is_refusal(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

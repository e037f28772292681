//! Headers of ClickHouse's HTTP interface that this crate sets.

use http::HeaderName;

pub(crate) const EXCEPTION_CODE: HeaderName =
    HeaderName::from_static("x-clickhouse-exception-code");
pub(crate) const SERVER_NAME: HeaderName =
    HeaderName::from_static("x-clickhouse-server-display-name");
/// What this server calls itself.
pub(crate) const NAME: &str = "millrace";

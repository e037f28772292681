//! Requests read as ClickHouse reads them, and what is refused rather than ignored.

use super::*;
use crate::{auth::Given, session::Setting};

fn read(url: &str, headers: &[(&'static str, &str)]) -> Result<Request, Fault> {
    let headers = headers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect();
    Request::read(&Method::POST, Some(url), &headers)
}

#[test]
fn fields_of_the_url_go_where_they_belong() {
    let request = read(
        "query=SELECT+1&database=d&role=reader&default_format=Native&compress=1&decompress=0&param_a=x%27y&max_threads=2&query_id=q",
        &[],
    )
    .unwrap();
    assert_eq!(request.query, "SELECT 1");
    assert_eq!(
        (request.database.as_deref(), request.default_format.as_deref()),
        (Some("d"), Some("Native"))
    );
    assert!(request.compress && !request.decompress && !request.read_only);
    assert_eq!(request.params, [("a".to_owned(), "x'y".to_owned())]);
    assert_eq!(request.role.as_deref(), Some("reader"));
    let setting = Setting { name: "max_threads".to_owned(), value: "2".to_owned() };
    assert_eq!(request.settings, [setting]);
    assert_eq!(request.query_id.as_deref(), Some("q"));
}

#[test]
fn get_is_read_only() {
    assert!(Request::read(&Method::GET, None, &HeaderMap::new()).unwrap().read_only);
}

#[test]
fn a_credential_comes_in_any_of_three_ways_but_not_in_two() {
    for request in [
        read("user=u&password=p", &[]),
        read("", &[("x-clickhouse-user", "u"), ("x-clickhouse-key", "p")]),
        read("", &[("authorization", "Basic dTpw")]),
        read("", &[("authorization", "basic dTpw")]),
    ] {
        assert_eq!(request.unwrap().credential(), Some(Given { user: "u", password: "p" }));
    }
    assert_eq!(read("", &[]).unwrap().credential(), None);
    assert_eq!(read("", &[("authorization", "Basic !")]).unwrap().credential(), None);
    let both = read("user=u", &[("authorization", "Basic dTpw")]).unwrap_err();
    assert_eq!(both.code, code::AUTHENTICATION_FAILED);
}

#[test]
fn unsupported_parameters_are_refused() {
    for field in [
        "session_id=1",
        "role=r&role=s",
        "quota_key=k",
        "stacktrace=1",
        "client_protocol_version=5",
    ] {
        assert_eq!(read(field, &[]).unwrap_err().code, code::NOT_IMPLEMENTED, "{field}");
    }
    assert_eq!(read("", &[("content-encoding", "gzip")]).unwrap_err().code, code::NOT_IMPLEMENTED);
    assert_eq!(read("compress=yes", &[]).unwrap_err().code, code::BAD_ARGUMENTS);
    assert!(
        read(
            "stacktrace=0&client_protocol_version=0&compress=0",
            &[("content-encoding", "identity")]
        )
        .is_ok()
    );
}

#[test]
fn a_setting_has_the_name_of_a_setting() {
    for name in ["max_threads", "_x", "custom.a1"] {
        assert!(read(&format!("{name}=1"), &[]).is_ok(), "{name}");
    }
    for name in ["a%3D1%2Cb", "1a", "a%20b", "a%27", ""] {
        assert_eq!(
            read(&format!("{name}=1"), &[]).unwrap_err().code,
            code::UNKNOWN_SETTING,
            "{name}"
        );
    }
}

#[test]
fn the_number_of_fields_is_bounded() {
    let url = "a=1&".repeat(FIELDS_MAX + 1);
    assert_eq!(read(&url, &[]).unwrap_err().code, code::BAD_ARGUMENTS);
}

//! Parsing of ClickHouse addresses.

use super::*;

#[test]
fn addresses_are_read_with_clickhouse_defaults() {
    let cases = [
        ("http://u:p@h:8123/db", ("http://h:8123/", "u", "p", "db")),
        ("http://h", ("http://h:8123/", "default", "", "default")),
        ("https://h/x", ("https://h:8443/", "default", "", "x")),
        ("http://h:80", ("http://h/", "default", "", "default")),
        ("http://u%40x:p%2F%2Bq+r@[::1]:9000/", ("http://[::1]:9000/", "u@x", "p/+q+r", "default")),
    ];
    for (text, expected) in cases {
        let address = ClickHouseAddress::parse(text).unwrap();
        let read = (
            address.url.as_str(),
            address.user.as_str(),
            address.password.expose_secret(),
            address.database.as_str(),
        );
        assert_eq!(read, expected, "{text}");
    }
}

#[test]
fn addresses_round_trip() {
    let address = ClickHouseAddress::parse("http://a%20b:p%40%2F%3A@127.0.0.1:1234/some").unwrap();
    let again = ClickHouseAddress::parse(address.to_secret().expose_secret()).unwrap();
    assert_eq!(again.url, address.url);
    assert_eq!(again.user, "a b");
    assert_eq!(again.password.expose_secret(), "p@/:");
    assert_eq!(again.database, "some");
}

#[test]
fn other_addresses_are_refused_by_name() {
    for text in ["tcp://h:9000", "h:8123", "", "http://"] {
        let refusal = ClickHouseAddress::parse(text).unwrap_err().to_string();
        assert!(refusal.contains("CLICKHOUSE_URL"), "{refusal}");
    }
}

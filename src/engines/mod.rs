//! Starts and watches the embedded PostgreSQL and ClickHouse.

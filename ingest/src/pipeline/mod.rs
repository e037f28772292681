//! Consumers of the spool: the ClickHouse batch writer, its cursor, and dead letters.

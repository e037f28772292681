//! ClickHouse in a process of our own, behind its own HTTP interface.

//! Questions about events, answered by ClickHouse.

//! Events as columns, sorted by the table's key and written as ClickHouse `Native` blocks.

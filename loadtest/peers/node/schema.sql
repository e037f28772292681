CREATE TABLE peer_node (
    event_id     String,
    event_name   LowCardinality(String),
    user_id      String,
    anonymous_id String,
    session_id   String,
    device_id    String,
    timestamp    DateTime64(3, 'UTC'),
    properties   String
) ENGINE = MergeTree
PARTITION BY toYYYYMM(timestamp)
ORDER BY (event_name, toDate(timestamp), event_id)

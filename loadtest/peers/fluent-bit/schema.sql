CREATE TABLE peer_fluent_bit (
    clientEventId String,
    eventName     LowCardinality(String),
    userId        String,
    anonymousId   String,
    sessionId     String,
    deviceId      String,
    timestamp     DateTime64(3, 'UTC'),
    properties    Map(String, String)
) ENGINE = MergeTree
PARTITION BY toYYYYMM(timestamp)
ORDER BY (eventName, toDate(timestamp), clientEventId)

-- Events, one row each. $person$, $resolved$ and $people$ are empty where a statement asks for no person: see views.rs.
-- Without FINAL: the setting `final` adds it where rows may repeat others.
CREATE OR REPLACE VIEW $views$.events $on_cluster$ (
    event_id String COMMENT 'The clientEventId, else an id of the server',
    event_name LowCardinality(String) COMMENT 'Name of the event',
    $person$
    user_id String COMMENT 'userId as tracked; empty where there was none, as the other identifiers',
    anonymous_id String COMMENT 'anonymousId as tracked',
    service_user_id String COMMENT 'serviceUserId as tracked',
    alias_label LowCardinality(String) COMMENT 'userAlias.aliasLabel as tracked',
    alias_name String COMMENT 'userAlias.aliasName as tracked',
    session_id String COMMENT 'Session of the app or page',
    device_id String COMMENT 'Device of the app or page',
    timestamp DateTime64(3, 'UTC') COMMENT 'When it happened',
    received_at DateTime64(3, 'UTC') COMMENT 'When it arrived',
    properties String COMMENT 'Properties as JSON: JSONExtractString(properties, ''plan'')',
    numbers Map(String, Float64) COMMENT 'Numbers of the properties by their dot paths: numbers[''total'']',
    order_id String COMMENT 'orderId of the properties; empty where there was none',
    revenue Nullable(Decimal(18, 4)) COMMENT 'total of the properties; null where it was no number',
    currency LowCardinality(String) COMMENT 'currency of the properties; empty where there was none'
)
DEFINER = $definer$ SQL SECURITY DEFINER
AS SELECT
    e.event_id AS event_id,
    e.event_name AS event_name,
    $resolved$
    e.user_id AS user_id,
    e.anonymous_id AS anonymous_id,
    e.service_user_id AS service_user_id,
    e.alias_label AS alias_label,
    e.alias_name AS alias_name,
    e.session_id AS session_id,
    e.device_id AS device_id,
    e.timestamp AS timestamp,
    e.received_at AS received_at,
    e.properties AS properties,
    e.numbers AS numbers,
    e.order_id AS order_id,
    if(e.has_revenue, e.revenue, NULL) AS revenue,
    e.currency AS currency
FROM $tables$.events AS e
$people$
WHERE e.workspace_id = $workspace$
COMMENT 'Events that were tracked, one row each'

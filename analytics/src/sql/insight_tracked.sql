-- What do events of a question about people have that rows are made of? See insights/rows.rs.
SELECT
    toUnixTimestamp64Milli(timestamp) AS at_ms,
    $identifier$ AS identifier,
    $service_key$ AS service_key,
    $user_key$ AS user_key,
    $needs_links$ AS needs_links
    $event_columns$
FROM events FINAL
WHERE $events$

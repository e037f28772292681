-- What are the events of each interval and label, in parts that can be added up?
SELECT
    is_compared,
    interval_ms,
    $label$
    count() AS part_events,
    toUInt8(max(needs_links)) AS part_needs_links,
    toUInt8(max($needs_texts$)) AS part_needs_texts
    $figures$
FROM ($rows$)
GROUP BY $label$ is_compared, interval_ms

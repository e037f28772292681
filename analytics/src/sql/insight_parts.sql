-- What are the events of each interval and label, in parts that can be added up? A label has a part for each way its JSON is
-- written, so that it is read once for a part and not for each event.
SELECT
    $is_compared$,
    interval_ms,
    $label$
    count() AS part_events,
    $needs_links$ AS part_needs_links,
    $needs_texts$ AS part_needs_texts
    $figures$
FROM ($rows$)
GROUP BY $keys$

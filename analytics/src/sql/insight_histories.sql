-- What did each person do, when? An event is its instant, times 2^20, and a bit for each choice that it meets.
SELECT groupArray(event) AS events, $labels$ AS labels, max(needs_links) AS needs_links
FROM (
    SELECT person, $label$ AS label, needs_links, bitOr(bitShiftLeft(toUInt64(at_ms), 20), choices) AS event
    FROM ($rows$)
)
GROUP BY person
HAVING countIf(bitAnd(event, 1) = 1) > 0

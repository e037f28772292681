-- What did each person do, when? An event is its instant, times 2^20, and a bit for each choice that it meets; all bits where
-- links are needed. People come in groups, by the first bits of their hash: to sort the rows of each person together takes
-- ten times as long here as within a group that fits into a cache.
SELECT
    person,
    if(needs_links, toUInt64(-1), bitOr(bitShiftLeft(toUInt64(at_ms), 20), choices)) AS event
    $label$
FROM ($rows$)
ORDER BY toUInt8(bitShiftRight(person, 58))

-- How many people are there per interval of a range, and in all of it? The intervals of a person are the bits of one number,
-- so that each person is kept once, and not once for each interval. The columns are those of insight_trend.sql.
SELECT
    figure.1 AS is_total,
    figure.2 AS is_compared,
    figure.3 AS interval_ms,
    toUInt8(1) AS kind,
    '' AS value,
    toUInt64(0) AS events,
    needs_links,
    toUInt8(0) AS needs_texts,
    figure.4 AS people,
    CAST(NULL, 'Nullable(Float64)') AS number_of_all,
    toInt128(0) AS sum_units,
    toFloat64(0) AS sum_rest,
    toUInt64(0) AS sum_count
FROM (
    SELECT toUInt8(max(person_needs_links)) AS needs_links, $figures$ AS figures
    FROM (
        SELECT
            groupBitOr(bitShiftLeft(toUInt64(1), transform(interval_ms, $starts$, $places$, toUInt8(0)))) AS intervals,
            $needs_links$ AS person_needs_links
        FROM ($rows$)
        GROUP BY person
    )
)
ARRAY JOIN figures AS figure
WHERE people > 0

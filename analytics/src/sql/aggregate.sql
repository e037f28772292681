-- How many events of one name were there per period, and what do numbers in them come to?
--
-- A sum is kept as whole millionths (Int128) plus a rest: every decimal of at most 6 places and 15
-- digits turns into whole millionths without error and leaves no rest, so money does not drift.
-- $period$, $…_value$ and $and$ are fixed fragments; see events/aggregate.rs.
SELECT
    toInt64(toUnixTimestamp(toDateTime(period, 'UTC'))) * 1000 AS period_ms,
    count() AS events,
    countIf(lacks) AS lacking,
    sum(toInt128(sum_whole) * toInt128(1000000 / sum_scale)) AS sum_units,
    sumKahan(sum_value - sum_whole / sum_scale) AS sum_rest,
    sum(toInt128(avg_whole) * toInt128(1000000 / avg_scale)) AS avg_units,
    sumKahan(avg_value - avg_whole / avg_scale) AS avg_rest,
    count(avg_value) AS avg_count,
    min(min_value) AS least,
    max(max_value) AS most
FROM (
    SELECT
        $period$ AS period,
        $lacks$ AS lacks,
        $sum_value$ AS sum_value,
        $avg_value$ AS avg_value,
        $min_value$ AS min_value,
        $max_value$ AS max_value,
        multiIf(abs(sum_value) < 2e9, 1e6, abs(sum_value) < 2e10, 1e5, abs(sum_value) < 2e11, 1e4,
            abs(sum_value) < 2e12, 1e3, abs(sum_value) < 2e13, 1e2, abs(sum_value) < 2e14, 1e1, 1.) AS sum_scale,
        multiIf(abs(avg_value) < 2e9, 1e6, abs(avg_value) < 2e10, 1e5, abs(avg_value) < 2e11, 1e4,
            abs(avg_value) < 2e12, 1e3, abs(avg_value) < 2e13, 1e2, abs(avg_value) < 2e14, 1e1, 1.) AS avg_scale,
        if(abs(sum_value) < 2e15, toInt64(round(ifNull(sum_value, 0) * sum_scale)), 0) AS sum_whole,
        if(abs(avg_value) < 2e15, toInt64(round(ifNull(avg_value, 0) * avg_scale)), 0) AS avg_whole
    FROM events FINAL
    WHERE workspace_id = {workspace:UUID}
        AND event_name = {event_name:String}
        AND day >= toStartOfMonth(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC'))
        AND day <= toDate(fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC'))
        AND (day >= toDate(fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')) OR toDayOfMonth(day) = 1)
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
        $and$
)
GROUP BY period
ORDER BY period

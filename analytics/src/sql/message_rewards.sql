-- Messages of each variant by their age and the delay of their reward, in intervals that grow with the time (statistics::delay).
WITH
    (ms) -> toUInt8(if(ms < {first_interval_ms:Int64}, 0, least(1 + floor({intervals_a_doubling:UInt8} * log2(ms / {first_interval_ms:Int64})), {intervals:UInt8} - 1))) AS interval_of
SELECT
    toUInt8(place) AS variant,
    if(age_ms >= {window_ms:Int64}, {closed:UInt8}, interval_of(age_ms)) AS age,
    if(is_rewarded, toInt16(interval_of(greatest(delay_ms, 0))), toInt16(-1)) AS delay,
    count() AS messages
FROM (
    SELECT
        place,
        greatest({now_ms:Int64} - left_at, 0) AS age_ms,
        if({clicks:Bool}, clicked_at, seen_at) AS at,
        at - left_at AS delay_ms,
        {counts_engagement:Bool} AND at < never AND delay_ms <= {window_ms:Int64} AS is_rewarded
    FROM ($outcomes$)
    WHERE class = 2
)
GROUP BY variant, age, delay
ORDER BY variant, age, delay

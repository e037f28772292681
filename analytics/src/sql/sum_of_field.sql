-- What do the numbers of one field add up to, and how many are there?
--
-- A sum is whole millionths (Int128) plus a rest. Scaled as below, a value lies under 2e15, where its
-- double is nearer than 0.5 to the right whole number; so every decimal of at most 6 places under 2e9
-- (4 under 2e11, 2 under 2e13, none under 2e15) becomes whole millionths without error. Its rest is 0,
-- because dividing back is correctly rounded and gives the same double. Only digits beyond those
-- places, and larger values, reach the rest, which is summed as doubles.
sum(multiIf(
    abs($value$) < 2e9, toInt128(toInt64(round($value$ * 1e6))),
    abs($value$) < 2e11, toInt128(toInt64(round($value$ * 1e4))) * 100,
    abs($value$) < 2e13, toInt128(toInt64(round($value$ * 1e2))) * 10000,
    abs($value$) < 2e15, toInt128(toInt64(round($value$))) * 1000000,
    toInt128(0))) AS $metric$_units,
sumKahan($value$ - multiIf(
    abs($value$) < 2e9, round($value$ * 1e6) / 1e6,
    abs($value$) < 2e11, round($value$ * 1e4) / 1e4,
    abs($value$) < 2e13, round($value$ * 1e2) / 1e2,
    abs($value$) < 2e15, round($value$),
    toFloat64(0))) AS $metric$_rest,
countIf($value$_found) AS $metric$_count

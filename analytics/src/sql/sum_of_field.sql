-- What do the numbers of one field add up to, and how many are there?
--
-- A sum is whole millionths (Int128) plus a rest. Scaled as below, a value lies under 2e15, where its
-- double is nearer than 0.5 to the right whole number; so every decimal of at most 6 places under 2e9
-- (4 under 2e11, 2 under 2e13, none under 2e15) becomes whole millionths without error. Its rest is 0,
-- because dividing back is correctly rounded and gives the same double. Only digits beyond those
-- places, and larger values, reach the rest, which is summed as doubles.
sum(toInt128(toInt64(round($value$ * (multiIf(
    abs($value$) < 2e9, toFloat64(1e6),
    abs($value$) < 2e11, toFloat64(1e4),
    abs($value$) < 2e13, toFloat64(1e2),
    abs($value$) < 2e15, toFloat64(1),
    toFloat64(0)) AS $metric$_scale)))) * multiIf(
    $metric$_scale = 1e6, 1,
    $metric$_scale = 1e4, 100,
    $metric$_scale = 1e2, 10000,
    1000000)) AS $metric$_units,
sumKahan($value$ - if($metric$_scale = 0, 0, round($value$ * $metric$_scale) / $metric$_scale)) AS $metric$_rest,
countIf($value$_found) AS $metric$_count

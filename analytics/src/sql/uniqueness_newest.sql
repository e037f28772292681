-- The newest row of a month of `events` (0: of all orders) that its writer did not compare with others.
SELECT max(seq) AS newest
FROM events
WHERE NOT is_unique
    AND if({month:UInt32} = 0, event_name = 'Order Completed', toYYYYMM(day) = {month:UInt32})

-- To whom in a campaign did the only message get so far? In the order of their ids, which is that of the key: no
-- more is read than it takes to fill the page.
SELECT lower(hex(user_id)) AS user
FROM ($outcomes$)
WHERE $status$ = {status:UInt8}
ORDER BY campaign_id, user_id
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

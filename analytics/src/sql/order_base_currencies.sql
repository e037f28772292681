-- In which base currencies are the orders of a workspace? Two are as many as matter.
SELECT DISTINCT toString(base_currency) AS base_currency
FROM orders FINAL
WHERE workspace_id = {workspace:UUID} AND base_currency != ''
LIMIT 2

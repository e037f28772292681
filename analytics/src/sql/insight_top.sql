-- Which values of a breakdown have the largest totals?
SELECT label
FROM labelled
WHERE isNotNull(label) AND NOT is_compared
GROUP BY label
ORDER BY $total$ DESC, label
LIMIT $limit$

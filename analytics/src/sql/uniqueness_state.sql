-- Which months of `events` (0: `orders`) may hold repeats, and since which generation?
SELECT month, max(generation) AS newest
FROM uniqueness
GROUP BY month
HAVING argMax(is_unique, (generation, is_unique)) = 0
ORDER BY month

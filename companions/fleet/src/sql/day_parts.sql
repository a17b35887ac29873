-- The thirds of a factor e that hold p99.9 of each day, and how many values may lie above it within them. Windows over all bins of all
-- days would not fit in memory.
SELECT machine, task, day_s, low_ns, high_ns, FLOOR(total / 1000) - (total - upto) AS spare
FROM (
    SELECT machine, task, day_s, low_ns, high_ns, n,
           SUM(n) OVER (PARTITION BY machine, task, day_s ORDER BY high_ns) AS upto,
           SUM(n) OVER (PARTITION BY machine, task, day_s) AS total
    FROM (
        SELECT machine, task, day_s, MIN(high_ns) AS low_ns, MAX(high_ns) AS high_ns, SUM(n) AS n
        FROM (
            SELECT machine, task, start_s - start_s % 86400 AS day_s, high_ns, n,
                   CASE WHEN high_ns > 1 THEN FLOOR(LN(high_ns) * 3) ELSE 0 END AS part
            FROM bins WHERE quantity = 0 AND start_s IS NOT NULL
        ) parted
        GROUP BY machine, task, day_s, part
    ) grouped
) counted
WHERE total >= 1000 AND total - upto <= FLOOR(total / 1000) AND total - upto + n > FLOOR(total / 1000)

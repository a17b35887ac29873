WITH covered AS (
    SELECT machine, task, start_s - start_s % 28800 AS shift_s, SUM(length_ms) AS length_ms,
           SUM(missed) AS missed, COUNT(*) - COUNT(missed) AS missed_unknown
    FROM slices WHERE quantity = 0 AND start_s IS NOT NULL GROUP BY machine, task, start_s - start_s % 28800
),
counted AS (
    SELECT machine, task, start_s - start_s % 28800 AS shift_s, purpose, quantity, limit_ns,
           SUM(above) AS above, COUNT(*) - COUNT(above) AS unknown
    FROM limits WHERE start_s IS NOT NULL
    GROUP BY machine, task, start_s - start_s % 28800, purpose, quantity, limit_ns
)
SELECT l.machine, l.task, l.purpose, l.quantity, l.limit_ns,
       CAST(COUNT(*) AS BIGINT) AS shifts,
       CAST(SUM(CASE WHEN l.above > 0 THEN 1 ELSE 0 END) AS BIGINT) AS late,
       CAST(SUM(CASE WHEN l.unknown > 0 AND COALESCE(l.above, 0) = 0 THEN 1 ELSE 0 END) AS BIGINT) AS unknown,
       CAST(SUM(CASE WHEN c.missed > 0 THEN 1 ELSE 0 END) AS BIGINT) AS missing,
       CAST(COALESCE(SUM(l.above), 0) AS BIGINT) AS above
FROM counted l JOIN covered c ON l.machine = c.machine AND l.task = c.task AND l.shift_s = c.shift_s
WHERE c.length_ms >= 14400000
GROUP BY l.machine, l.task, l.purpose, l.quantity, l.limit_ns
ORDER BY l.machine, l.task, l.purpose, l.quantity, l.limit_ns

WITH covered AS (
    SELECT machine, task, start_s - start_s % 28800 AS shift_s, SUM(length_ms) AS length_ms,
           SUM(missed) AS missed, COUNT(*) - COUNT(missed) AS unknown
    FROM slices WHERE quantity = 0 AND start_s IS NOT NULL GROUP BY machine, task, start_s - start_s % 28800
),
counted AS (
    SELECT machine, task, start_s - start_s % 28800 AS shift_s, purpose, quantity, limit_ns,
           SUM(above) AS above, COUNT(*) - COUNT(above) AS unknown
    FROM limits WHERE start_s IS NOT NULL
    GROUP BY machine, task, start_s - start_s % 28800, purpose, quantity, limit_ns
),
judged AS (
    SELECT l.machine, l.task, l.purpose, l.quantity, l.limit_ns,
           CASE WHEN l.above > 0 OR c.missed > 0 THEN 1 WHEN l.unknown + c.unknown = 0 THEN 0 END AS late
    FROM counted l JOIN covered c ON l.machine = c.machine AND l.task = c.task AND l.shift_s = c.shift_s
    WHERE c.length_ms >= 14400000
)
SELECT machine, purpose, limit_ns, CAST(COUNT(late) AS BIGINT) AS shifts, CAST(SUM(late) AS BIGINT) AS late
FROM judged
GROUP BY machine, task, purpose, quantity, limit_ns
HAVING COUNT(late) > 0
ORDER BY machine, purpose, limit_ns, shifts, late

WITH grouped AS (
    SELECT p.machine, p.task, p.day_s, b.high_ns, SUM(b.n) AS n, MAX(p.spare) AS spare
    FROM bins b JOIN day_steps p ON b.machine = p.machine AND b.task = p.task
         AND b.start_s - b.start_s % 86400 = p.day_s AND b.high_ns >= p.low_ns AND b.high_ns <= p.high_ns
    WHERE b.quantity = 0
    GROUP BY p.machine, p.task, p.day_s, b.high_ns
),
counted AS (
    SELECT machine, task, day_s, high_ns, n, spare,
           SUM(n) OVER (PARTITION BY machine, task, day_s ORDER BY high_ns) AS upto,
           SUM(n) OVER (PARTITION BY machine, task, day_s) AS total
    FROM grouped
),
placed AS (
    SELECT machine, task, start_s - start_s % 86400 AS day_s, env, boot,
           ROW_NUMBER() OVER (PARTITION BY machine, task, start_s - start_s % 86400 ORDER BY start_s DESC, env, boot) AS place
    FROM slices WHERE quantity = 0 AND start_s IS NOT NULL
)
SELECT c.machine, c.task, c.day_s, p.env, p.boot, c.high_ns AS p999_ns
FROM counted c JOIN placed p ON c.machine = p.machine AND c.task = p.task AND c.day_s = p.day_s
WHERE c.total - c.upto <= c.spare AND c.total - c.upto + c.n > c.spare
      AND p.place = 1 AND c.high_ns < 9223372036854775807
ORDER BY c.machine, c.task, c.day_s

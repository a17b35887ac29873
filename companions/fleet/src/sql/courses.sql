WITH grouped AS (
    SELECT machine, task, start_s - start_s % 86400 AS day_s, high_ns, SUM(n) AS n, MAX(env) AS env
    FROM bins WHERE quantity = 0 AND start_s IS NOT NULL
    GROUP BY machine, task, start_s - start_s % 86400, high_ns
),
counted AS (
    SELECT machine, task, day_s, high_ns, env,
           SUM(n) OVER (PARTITION BY machine, task, day_s ORDER BY high_ns) AS upto,
           SUM(n) OVER (PARTITION BY machine, task, day_s) AS total
    FROM grouped
),
boots AS (
    SELECT machine, task, start_s - start_s % 86400 AS day_s, MAX(boot) AS boot
    FROM slices WHERE quantity = 0 AND start_s IS NOT NULL
    GROUP BY machine, task, start_s - start_s % 86400
)
SELECT c.machine AS machine, c.task AS task, c.day_s AS day_s, MAX(c.env) AS env, MAX(b.boot) AS boot,
       MIN(CASE WHEN total >= 1000 AND total - upto <= FLOOR(total / 1000) THEN high_ns END) AS p999_ns
FROM counted c JOIN boots b ON c.machine = b.machine AND c.task = b.task AND c.day_s = b.day_s
GROUP BY c.machine, c.task, c.day_s
ORDER BY machine, task, day_s

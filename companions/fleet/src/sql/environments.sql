WITH counted AS (
    SELECT machine, task, env, high_ns,
           SUM(n) OVER (PARTITION BY machine, task, env ORDER BY high_ns) AS upto,
           SUM(n) OVER (PARTITION BY machine, task, env) AS total
    FROM binned WHERE quantity = 0
),
times AS (
    SELECT machine, task, env, MIN(start_s) AS first_s
    FROM slices WHERE quantity = 0 GROUP BY machine, task, env
)
SELECT c.machine, c.task, c.env, MIN(t.first_s) AS first_s,
       NULLIF(MIN(CASE WHEN total >= 1000 AND total - upto <= FLOOR(total / 1000) THEN high_ns END), 9223372036854775807) AS p999_ns
FROM counted c JOIN times t ON c.machine = t.machine AND c.task = t.task AND c.env = t.env
GROUP BY c.machine, c.task, c.env
ORDER BY c.machine, c.task, c.env

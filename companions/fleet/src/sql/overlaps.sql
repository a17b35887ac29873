WITH streams AS (
    SELECT machine, task, stream, env, MAX(boot) AS boot, MIN(start_s) AS first_s,
           CAST(MAX(start_s + FLOOR(length_ms / 1000)) AS BIGINT) AS last_s
    FROM slices WHERE quantity = 0 AND start_s IS NOT NULL GROUP BY machine, task, stream, env
)
SELECT a.machine AS machine, a.task AS task, a.stream AS stream, a.env AS env, a.boot AS boot,
       b.stream AS other, b.env AS other_env, b.boot AS other_boot,
       CAST(a.first_s AS BIGINT) AS first_s, CAST(a.last_s AS BIGINT) AS last_s,
       CAST(b.first_s AS BIGINT) AS other_first_s, CAST(b.last_s AS BIGINT) AS other_last_s
FROM streams a JOIN streams b ON a.machine = b.machine AND a.task = b.task
WHERE a.stream < b.stream AND a.first_s < b.last_s AND b.first_s < a.last_s
ORDER BY machine, task, stream, other, env, other_env
LIMIT 1000

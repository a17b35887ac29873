WITH grouped AS (
    SELECT start_s - start_s % 86400 AS day_s, high_ns, SUM(n) AS n
    FROM bins WHERE quantity = 0 AND start_s IS NOT NULL GROUP BY start_s - start_s % 86400, high_ns
),
counted AS (
    SELECT day_s, high_ns, SUM(n) OVER (PARTITION BY day_s ORDER BY high_ns) AS upto, SUM(n) OVER (PARTITION BY day_s) AS total
    FROM grouped
),
quantiles AS (
    SELECT day_s, MIN(total) AS total,
           NULLIF(MIN(CASE WHEN total >= 1000 AND total - upto <= FLOOR(total / 1000) THEN high_ns END), 9223372036854775807) AS p999_ns,
           NULLIF(MIN(CASE WHEN total >= 10000 AND total - upto <= FLOOR(total / 10000) THEN high_ns END), 9223372036854775807) AS p9999_ns
    FROM counted GROUP BY day_s
),
sums AS (
    SELECT start_s - start_s % 86400 AS day_s, COUNT(DISTINCT machine) AS machines,
           CASE WHEN COUNT(missed) = COUNT(*) THEN SUM(missed) END AS missed,
           CASE WHEN COUNT(max_ns) >= COUNT(NULLIF(count, 0)) THEN MAX(max_ns) END AS max_ns
    FROM slices WHERE quantity = 0 AND start_s IS NOT NULL GROUP BY start_s - start_s % 86400
)
SELECT s.day_s AS day_s, CAST(s.machines AS BIGINT) AS machines, CAST(q.total AS BIGINT) AS count,
       CAST(s.missed AS BIGINT) AS missed,
       CASE WHEN q.p999_ns > s.max_ns THEN s.max_ns ELSE q.p999_ns END AS p999_ns,
       CASE WHEN q.p9999_ns > s.max_ns THEN s.max_ns ELSE q.p9999_ns END AS p9999_ns,
       s.max_ns AS max_ns
FROM sums s JOIN quantiles q ON s.day_s = q.day_s
ORDER BY s.day_s

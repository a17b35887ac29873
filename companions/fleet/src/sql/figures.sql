SELECT machine, task, quantity, period_ns, policy, overrun, unknown,
       MAX(source) AS source,
       MIN(start_s) AS first_s,
       MAX(start_s) AS last_s,
       CAST(COUNT(*) - COUNT(start_s) AS BIGINT) AS without_time,
       CAST(SUM(count) AS BIGINT) AS count,
       CAST(CASE WHEN COUNT(missed) = COUNT(*) THEN SUM(missed) END AS BIGINT) AS missed,
       CAST(SUM(lost) AS BIGINT) AS lost,
       -- Of a slice without values these are not known, and do not matter.
       CASE WHEN COUNT(min_ns) >= COUNT(NULLIF(count, 0)) THEN MIN(min_ns) END AS min_ns,
       CASE WHEN COUNT(max_ns) >= COUNT(NULLIF(count, 0)) THEN MAX(max_ns) END AS max_ns,
       CAST(CASE WHEN COUNT(sum_ns) >= COUNT(NULLIF(count, 0)) THEN COALESCE(SUM(sum_ns), 0) END AS BIGINT) AS sum_ns,
       CAST(CASE WHEN COUNT(squares_high) >= COUNT(NULLIF(count, 0)) THEN COALESCE(SUM(squares_high), 0) END AS BIGINT) AS squares_high,
       CAST(CASE WHEN COUNT(squares_high) >= COUNT(NULLIF(count, 0)) THEN COALESCE(SUM(squares_low), 0) END AS BIGINT) AS squares_low
FROM slices
GROUP BY machine, task, quantity, period_ns, policy, overrun, unknown
ORDER BY machine, task, period_ns, policy, overrun, unknown, quantity

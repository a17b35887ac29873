SELECT machine, task, quantity, period_ns, policy, overrun, unknown,
       MAX(source) AS source,
       CAST(COUNT(*) AS BIGINT) AS slices,
       CAST(SUM(length_ms) AS BIGINT) AS length_ms,
       MIN(start_s) AS first_s,
       MAX(start_s) AS last_s,
       CAST(COUNT(*) - COUNT(start_s) AS BIGINT) AS without_time,
       CAST(SUM(count) AS BIGINT) AS count,
       CAST(COALESCE(SUM(missed), 0) AS BIGINT) AS missed,
       CAST(COUNT(*) - COUNT(missed) AS BIGINT) AS missed_unknown,
       CAST(SUM(lost) AS BIGINT) AS lost,
       MIN(CASE WHEN count > 0 THEN min_ns END) AS min_ns,
       CAST(SUM(CASE WHEN count > 0 AND min_ns IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS min_unknown,
       MAX(CASE WHEN count > 0 THEN max_ns END) AS max_ns,
       CAST(SUM(CASE WHEN count > 0 AND max_ns IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS max_unknown,
       CAST(COALESCE(SUM(CASE WHEN count > 0 THEN sum_ns END), 0) AS BIGINT) AS sum_ns,
       CAST(SUM(CASE WHEN count > 0 AND sum_ns IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS sum_unknown,
       CAST(COALESCE(SUM(CASE WHEN count > 0 THEN squares_high END), 0) AS BIGINT) AS squares_high,
       CAST(COALESCE(SUM(CASE WHEN count > 0 THEN squares_low END), 0) AS BIGINT) AS squares_low,
       CAST(SUM(CASE WHEN count > 0 AND squares_high IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS squares_unknown
FROM slices
GROUP BY machine, task, quantity, period_ns, policy, overrun, unknown
ORDER BY machine, task, period_ns, policy, overrun, unknown, quantity

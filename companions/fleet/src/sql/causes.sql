SELECT class, who,
       CAST(COUNT(DISTINCT machine) AS BIGINT) AS machines,
       CAST(SUM(times) AS BIGINT) AS times, CAST(SUM(sum_ns) AS BIGINT) AS sum_ns, MAX(max_ns) AS max_ns,
       CAST(SUM(proven_ns) AS BIGINT) AS proven_ns, CAST(SUM(likely_ns) AS BIGINT) AS likely_ns
FROM causes
GROUP BY class, who
ORDER BY sum_ns DESC, class, who
LIMIT 100

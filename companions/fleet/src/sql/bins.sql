SELECT machine, task, quantity, high_ns, CAST(SUM(n) AS BIGINT) AS n
FROM bins
GROUP BY machine, task, quantity, high_ns
ORDER BY machine, task, quantity, high_ns

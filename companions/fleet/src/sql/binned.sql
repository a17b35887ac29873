SELECT machine, task, env, quantity, high_ns, CAST(SUM(n) AS BIGINT) AS n
FROM bins WHERE quantity IN (0, 1)
GROUP BY machine, task, env, quantity, high_ns

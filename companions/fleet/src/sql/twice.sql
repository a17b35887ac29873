SELECT MIN(machine) AS machine, stream, seq, task, CAST(COUNT(*) AS BIGINT) AS times
FROM slices WHERE quantity = 0
GROUP BY stream, seq, task
HAVING COUNT(*) > 1
ORDER BY stream, seq, task
LIMIT 20

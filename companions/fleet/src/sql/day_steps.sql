-- The few bins of each part that hold p99.9 of its day.
SELECT machine, task, day_s, low_ns, high_ns, spare - (total - upto) AS spare
FROM (
    SELECT machine, task, day_s, low_ns, high_ns, n, spare,
           SUM(n) OVER (PARTITION BY machine, task, day_s ORDER BY high_ns) AS upto,
           SUM(n) OVER (PARTITION BY machine, task, day_s) AS total
    FROM (
        SELECT machine, task, day_s, MIN(high_ns) AS low_ns, MAX(high_ns) AS high_ns, SUM(n) AS n, MAX(spare) AS spare
        FROM (
            SELECT p.machine, p.task, p.day_s, b.high_ns, b.n, p.spare,
                   CASE WHEN b.high_ns > 1 THEN FLOOR(LN(b.high_ns) * 24) ELSE 0 END AS part
            FROM bins b JOIN day_parts p ON b.machine = p.machine AND b.task = p.task
                 AND b.start_s - b.start_s % 86400 = p.day_s AND b.high_ns >= p.low_ns AND b.high_ns <= p.high_ns
            WHERE b.quantity = 0
        ) parted
        GROUP BY machine, task, day_s, part
    ) grouped
) counted
WHERE total - upto <= spare AND total - upto + n > spare

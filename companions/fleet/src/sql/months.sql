WITH placed AS (
    SELECT b.machine AS machine, m.from_s AS from_s, b.n AS n,
           CASE WHEN b.high_ns < 1000 THEN 36 ELSE CAST(FLOOR(LN(b.high_ns) / LN(10) * 12) AS BIGINT) END AS step
    FROM bins b JOIN months m ON b.start_s >= m.from_s AND b.start_s < m.to_s
    WHERE b.quantity = 0 AND b.high_ns < 9223372036854775807
)
SELECT machine, from_s, CAST(step AS BIGINT) AS step, CAST(SUM(n) AS BIGINT) AS n
FROM placed
GROUP BY machine, from_s, step
ORDER BY machine, from_s, step

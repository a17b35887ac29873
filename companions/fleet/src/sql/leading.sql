WITH grouped AS (
    SELECT machine, class, who, SUM(sum_ns) AS sum_ns
    FROM causes WHERE class NOT IN ('usual', 'tracer') GROUP BY machine, class, who
),
placed AS (
    SELECT machine, class, who, sum_ns,
           ROW_NUMBER() OVER (PARTITION BY machine ORDER BY sum_ns DESC, class, who) AS place,
           SUM(sum_ns) OVER (PARTITION BY machine) AS total_ns
    FROM grouped
)
SELECT machine, class, who, CAST(sum_ns AS BIGINT) AS sum_ns,
       CAST(total_ns AS BIGINT) AS total_ns
FROM placed WHERE place = 1
ORDER BY machine

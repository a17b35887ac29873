WITH grouped AS (
    SELECT machine, task, high_ns, SUM(CASE WHEN quantity = 0 THEN n ELSE 0 END) AS ran, SUM(n) AS due
    FROM binned GROUP BY machine, task, high_ns
),
counted AS (
    SELECT machine, task, high_ns,
           SUM(ran) OVER (PARTITION BY machine, task ORDER BY high_ns) AS ran_upto,
           SUM(ran) OVER (PARTITION BY machine, task) AS ran,
           SUM(due) OVER (PARTITION BY machine, task ORDER BY high_ns) AS due_upto,
           SUM(due) OVER (PARTITION BY machine, task) AS due
    FROM grouped
)
SELECT machine, task,
       NULLIF(MIN(CASE WHEN ran >= 1000 AND ran - ran_upto <= FLOOR(ran / 1000) THEN high_ns END), 9223372036854775807) AS p999_ns,
       NULLIF(MIN(CASE WHEN due >= 1000 AND due - due_upto <= FLOOR(due / 1000) THEN high_ns END), 9223372036854775807) AS due_p999_ns
FROM counted
GROUP BY machine, task
ORDER BY machine, task

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
       CAST(MIN(ran) AS BIGINT) AS ran,
       MIN(CASE WHEN ran >= 2 AND ran - ran_upto <= FLOOR(ran / 2) THEN high_ns END) AS p50_ns,
       MIN(CASE WHEN ran >= 100 AND ran - ran_upto <= FLOOR(ran / 100) THEN high_ns END) AS p99_ns,
       MIN(CASE WHEN ran >= 1000 AND ran - ran_upto <= FLOOR(ran / 1000) THEN high_ns END) AS p999_ns,
       MIN(CASE WHEN ran >= 10000 AND ran - ran_upto <= FLOOR(ran / 10000) THEN high_ns END) AS p9999_ns,
       CAST(MIN(due) AS BIGINT) AS due,
       MIN(CASE WHEN due >= 1000 AND due - due_upto <= FLOOR(due / 1000) THEN high_ns END) AS due_p999_ns,
       MIN(CASE WHEN due >= 10000 AND due - due_upto <= FLOOR(due / 10000) THEN high_ns END) AS due_p9999_ns
FROM counted
GROUP BY machine, task
ORDER BY machine, task

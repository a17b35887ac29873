NOT EXISTS (SELECT 1 FROM excluded e WHERE e.stream = r.stream AND e.task = r.task
            AND r.{time} >= e.from_s AND r.{time} < e.to_s)

import csv
import sys

import duckdb

connection = duckdb.connect()
for statement in sys.stdin.read().split(";\n"):
    if statement.strip():
        answer = connection.execute(statement)
if len(sys.argv) > 1:
    writer = csv.writer(sys.stdout)
    writer.writerow([column[0] for column in answer.description])
    writer.writerows(answer.fetchall())

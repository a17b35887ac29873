import csv
import json
import os
import sys

from pyspark.sql import SparkSession

with open(sys.argv[1]) as asked:
    task = json.load(asked)
spark = SparkSession.builder.getOrCreate()
for name, files, select in task["views"]:
    rows = spark.read.option("mergeSchema", "true").parquet(*files)
    rows.createOrReplaceTempView("rows_of_" + name)
    spark.sql(select.replace("{rows}", "rows_of_" + name)).createOrReplaceTempView(name)
for name, query in task["steps"]:
    spark.sql(query).cache().createOrReplaceTempView(name)
for name, query in task["queries"]:
    with open(os.path.join(task["out"], name), "w") as out:
        for row in spark.sql(query).toLocalIterator():
            out.write(json.dumps(row.asDict()) + "\n")
if task["own"]:
    answer = spark.sql(task["own"])
    writer = csv.writer(sys.stdout)
    writer.writerow(answer.columns)
    writer.writerows(answer.collect())
spark.stop()
with open(os.path.join(task["out"], "finished"), "w"):
    pass

-- How many shards has a cluster, 0 when there is none of that name?
SELECT uniqExact(shard_num) AS shards FROM system.clusters WHERE cluster = {cluster:String}

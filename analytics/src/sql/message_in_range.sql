-- Does the message belong to the time asked about? Part of other questions.
AND counted_at >= {start_ms:Int64} AND counted_at <= {end_ms:Int64}

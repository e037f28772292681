-- Was the message decided while an A/B test ran, or after it? Part of other questions.
AND occurrence > {after_occurrence:UInt32}
AND (decided_at < {concluded_ms:Int64}) = {is_trial:Bool}

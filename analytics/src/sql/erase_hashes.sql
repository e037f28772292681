-- Keyed hashes of identifiers.
SELECT sipHash64Keyed((toUInt64({first:UInt64}), toUInt64({second:UInt64})), arrayJoin({ids:Array(String)})) AS hash

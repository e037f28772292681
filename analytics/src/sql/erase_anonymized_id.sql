-- The id that an event goes on with, when it is stored without its person.
concat('anonymized:', lower(hex(sipHash128Keyed(
    (toUInt64({first:UInt64}), toUInt64({second:UInt64})), concat(event_id, ':', toString(seq))))))

-- Records what is known about repeats in a month of `events` (0: in `orders`).
INSERT INTO uniqueness (month, generation, is_unique, through_seq)
VALUES ({month:UInt32}, {generation:UInt64}, {is_unique:UInt8}, {through_seq:UInt64})

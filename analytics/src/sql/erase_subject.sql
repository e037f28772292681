-- The random id that an anonymised event gets: that of the first erased person among its identifiers.
arrayFirst(subject -> subject != '', arrayMap(hash -> transform(hash, [$hashes$], [$subjects$], ''), [
    $hash$(service_user_id), $hash$(user_id), $hash$(anonymous_id), $hash$(toString(alias_name))
]))

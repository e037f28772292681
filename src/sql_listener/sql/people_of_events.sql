-- The profiles that the two users of an event lead to, or without them the anonymous id. Part of other statements.
LEFT ANY JOIN (
    $identifiers$
) AS of_service ON of_service.identifier = if(
    e.service_user_id != '', sipHash128('user', e.service_user_id), toFixedString('', 16))
LEFT ANY JOIN (
    $identifiers$
) AS of_user ON of_user.identifier = multiIf(
    e.user_id != '', sipHash128('user', e.user_id),
    e.service_user_id = '' AND e.anonymous_id != '', sipHash128('user', concat('\x02', e.anonymous_id)),
    toFixedString('', 16))

-- Whose an event is: the profile that its ids lead to, else the identifier itself. Part of other statements.
-- Null only where a caller has set join_use_nulls or aggregate_functions_null_for_empty, which hold within views.
ifNull(
    multiIf(
        of_service.person != '', of_service.person,
        of_user.person != '', of_user.person,
        e.user_id != '', e.user_id,
        e.service_user_id != '', e.service_user_id,
        e.alias_name != '', e.alias_name,
        e.anonymous_id),
    '')

CREATE OR REPLACE VIEW $views$.people $on_cluster$ (
    person_id String COMMENT 'Internal id, 24 hex digits; what person_id of the other views names',
    external_id String COMMENT 'The id that the caller gave; empty where there is none',
    email String COMMENT 'Email address; empty where there is none',
    phone String COMMENT 'Phone number; empty where there is none',
    anonymous_ids Array(String) COMMENT 'Anonymous ids that are linked to the profile',
    attributes String COMMENT 'Attributes as JSON: JSONExtractString(attributes, ''plan'')',
    numbers Map(String, Float64) COMMENT 'Attributes that are numbers, of the top level',
    texts Map(String, String) COMMENT 'Attributes that are texts, of the top level',
    created_at DateTime64(3, 'UTC') COMMENT 'When the profile was created',
    updated_at DateTime64(3, 'UTC') COMMENT 'When the profile was last changed',
    is_deleted Bool COMMENT 'Deleted, or merged into another profile: such a row has its id and nothing else',
    consent Map(String, String) COMMENT 'State of consent by channel',
    lists Array(UUID) COMMENT 'Lists that the profile is in'
)
DEFINER = $definer$ SQL SECURITY DEFINER
AS SELECT
    lower(hex(p.user_id)) AS person_id,
    p.external_id AS external_id,
    p.email AS email,
    p.phone AS phone,
    p.anonymous_ids AS anonymous_ids,
    p.attributes AS attributes,
    p.numbers AS numbers,
    p.texts AS texts,
    p.created_at AS created_at,
    p.updated_at AS updated_at,
    toBool(p.is_deleted) AS is_deleted,
    p.consent AS consent,
    p.lists AS lists
FROM $tables$.people AS p FINAL
WHERE p.workspace_id = $workspace$
COMMENT 'Profiles, a second behind at most'

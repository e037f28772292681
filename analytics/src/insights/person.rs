//! Whose an event is, as SQL.
//!
//! Events carry ids of the service, of the caller, aliases and anonymous ids. Most people are always tracked by one of
//! them; then grouping by it is grouping by person. Only where a workspace has links between identifiers, or events
//! carry internal ids, joins say which identifiers are one person. What seems to do without them is tried first: rows
//! count themselves as in need of a join that is left out ([`Links::needed`]).

use crate::owners;

const LINKS: &str = include_str!("../sql/insight_links.sql");
const ATTRIBUTES: &str = include_str!("../sql/insight_attributes.sql");
const MEMBERS: &str = include_str!("../sql/insight_members.sql");

/// The identifier of an event: external id, else internal id, else alias, else anonymous id. Aliases and anonymous ids
/// begin with a character that no id holds.
pub(super) const IDENTIFIER: &str = r"multiIf(
            user_id != '', user_id,
            service_user_id != '', service_user_id,
            alias_name != '', concat('\x01', alias_label, '\x01', alias_name),
            concat('\x02', anonymous_id))";

/// The hash of an event's `serviceUserId`.
pub(super) const SERVICE_KEY: &str = "cityHash64(service_user_id)";
/// The hash of the identifier by which an event's profile is found where its `serviceUserId` leads to none.
pub(super) const USER_KEY: &str = r"cityHash64(multiIf(
            user_id != '', user_id,
            service_user_id = '', concat('\x02', anonymous_id),
            ''))";
/// What `serviceUserId` leads to is a profile, whichever ids that has. External ids that are a person already are left out
/// elsewhere.
const OF_SERVICE: &str =
    "token IN (SELECT service_user_id FROM events WHERE $events$ AND service_user_id != '')";
const NOT_A_PERSON: &str = "place != 1";

/// Whether an event is tracked by what may be an internal id.
const IS_INTERNAL: &str =
    "service_user_id != '' OR length(user_id) = 24 AND match(user_id, '^[0-9a-f]{24}\\\\z')";
/// A condition that is true of no event.
pub(super) const NEVER: &str = "0";
/// Whether an event has a `serviceUserId`.
pub(super) const HAS_SERVICE_ID: &str = "service_user_id != ''";

/// Which identifiers are joined with the profiles they are linked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// None: no identifier is linked to another, as far as is known.
    Unneeded,
    /// All but `serviceUserId`, which no event has, as far as is known.
    WithoutServiceIds,
    /// All identifiers, `serviceUserId` among them.
    Joined,
}

impl Links {
    /// The person of an event, as a hash.
    pub(super) fn person(self) -> &'static str {
        match self {
            Self::Unneeded => "cityHash64(identifier)",
            Self::WithoutServiceIds => {
                "if(of_user.person != 0, of_user.person, cityHash64(identifier))"
            }
            Self::Joined => {
                "multiIf(of_service.person != 0, of_service.person, of_user.person != 0, of_user.person, cityHash64(identifier))"
            }
        }
    }

    /// Whether an event needs a join that is left out, as a condition.
    pub(super) fn needed(self) -> &'static str {
        match self {
            Self::Unneeded => IS_INTERNAL,
            Self::WithoutServiceIds => HAS_SERVICE_ID,
            Self::Joined => NEVER,
        }
    }

    /// The joins of events that meet these conditions.
    pub(super) fn joins(self, events: &str) -> Vec<String> {
        let links = LINKS.replace("$identifiers$", &owners::identifiers_of_workspace());
        let of_service = || {
            let which = OF_SERVICE.replace("$events$", events);
            let of_service = links.replace("$which$", &which);
            format!(
                "LEFT ANY JOIN (\n{of_service}) AS of_service ON of_service.key = tracked.service_key"
            )
        };
        let of_user = || {
            let of_user = links.replace("$which$", NOT_A_PERSON);
            format!("LEFT ANY JOIN (\n{of_user}) AS of_user ON of_user.key = tracked.user_key")
        };
        match self {
            Self::Unneeded => Vec::new(),
            Self::WithoutServiceIds => vec![of_user()],
            Self::Joined => vec![of_service(), of_user()],
        }
    }
}

/// Joins people with the JSON of a value among their attributes, `attribute`.
pub(super) fn attributes_join(links: Links, raw: &str) -> String {
    let attributes = ATTRIBUTES.replace("$raw$", raw);
    format!("LEFT ANY JOIN (\n{attributes}) AS profiles ON profiles.person = {}", links.person())
}

/// Limits rows to the members of a question.
pub(super) fn members_condition(links: Links) -> String {
    format!("{} IN (\n{MEMBERS})", links.person())
}

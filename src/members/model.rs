//! Members and roles.

use std::fmt;

use kernel::{Timestamp, fields::Words};
use serde::Serialize;
use uuid::Uuid;
use web::auth::{ScopeName, ScopeSet};

/// The id of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct MemberId(Uuid);

impl MemberId {
    pub(crate) fn mint() -> Self {
        Self(Uuid::now_v7())
    }

    pub(crate) const fn new(id: Uuid) -> Self {
        Self(id)
    }

    /// The id as it is stored.
    pub const fn uuid(self) -> Uuid {
        self.0
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self)
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of scopes under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Everything that there is.
    Owner,
    /// Insights, SQL and reports.
    Analyst,
    /// Campaigns and their audiences.
    Marketer,
    /// Profiles, consent and suppressions.
    Support,
    /// Health, settings and keys.
    Operator,
}

/// The names of the roles.
pub const ROLES: &Words<Role> = &[
    ("owner", Role::Owner),
    ("analyst", Role::Analyst),
    ("marketer", Role::Marketer),
    ("support", Role::Support),
    ("operator", Role::Operator),
];

impl Role {
    /// What members with this role may do.
    pub fn scopes(self) -> ScopeSet {
        use ScopeName::{
            AnalyticsSql, CampaignsRead, CampaignsSend, CampaignsWrite, ComplianceRead,
            ComplianceWrite, EmailSuppressionRead, EmailSuppressionWrite, EventsRead, SettingsRead,
            SettingsWrite, SmsSuppressionRead, SmsSuppressionWrite, UsersDelete, UsersRead,
            UsersWrite,
        };
        match self {
            Self::Owner => ScopeSet::all(),
            Self::Analyst => {
                ScopeSet::of(&[EventsRead, UsersRead, CampaignsRead, SettingsRead, AnalyticsSql])
            }
            Self::Marketer => ScopeSet::of(&[
                EventsRead,
                UsersRead,
                ComplianceRead,
                SettingsRead,
                CampaignsRead,
                CampaignsWrite,
                CampaignsSend,
                EmailSuppressionRead,
                SmsSuppressionRead,
            ]),
            Self::Support => ScopeSet::of(&[
                EventsRead,
                UsersRead,
                UsersWrite,
                UsersDelete,
                ComplianceRead,
                ComplianceWrite,
                SettingsRead,
                CampaignsRead,
                EmailSuppressionRead,
                EmailSuppressionWrite,
                SmsSuppressionRead,
                SmsSuppressionWrite,
            ]),
            Self::Operator => ScopeSet::of(&[EventsRead, SettingsRead, SettingsWrite]),
        }
    }

    /// The role that grants exactly these scopes.
    pub fn of(scopes: ScopeSet) -> Option<Self> {
        ROLES.iter().map(|(_, role)| *role).find(|role| role.scopes() == scopes)
    }
}

/// A member of a workspace.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) id: MemberId,
    pub(crate) email: String,
    pub(crate) name: Option<String>,
    pub(crate) scopes: ScopeSet,
    pub(crate) has_password: bool,
    pub(crate) has_account: bool,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) signed_in_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_distinct_sets_of_scopes() {
        for (name, role) in ROLES {
            assert_eq!(Role::of(role.scopes()), Some(*role), "{name}");
        }
        assert_eq!(Role::of(ScopeSet::of(&[ScopeName::UsersRead])), None);
    }
}

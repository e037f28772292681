//! The credentials of a webhook's request.
//!
//! Secrets are sealed where they are stored and never returned: answers show a placeholder, and a placeholder
//! that is sent stands for the stored secret.

use kernel::fields::{Field, Fields, Presence};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    super::words::{self, Read},
    header,
    secret::{self, Secret},
};

const USERNAME_CHARS_MAX: usize = 255;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Auth {
    #[default]
    None,
    /// A user name and a password: RFC 7617.
    Basic {
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(max_length = 255)]
        username: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        password: Option<Secret>,
    },
    /// A token: RFC 6750.
    Bearer {
        #[serde(skip_serializing_if = "Option::is_none")]
        token: Option<Secret>,
    },
    /// A custom header of the receiver.
    Header {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Secret>,
    },
}

#[derive(Clone, Copy)]
enum AuthKind {
    None,
    Basic,
    Bearer,
    Header,
}

const KINDS: &[(&str, AuthKind)] = &[
    ("none", AuthKind::None),
    ("basic", AuthKind::Basic),
    ("bearer", AuthKind::Bearer),
    ("header", AuthKind::Header),
];

impl kernel::fields::FromFields for Auth {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        match body.required("type").one_of(KINDS) {
            AuthKind::None => Self::None,
            AuthKind::Basic => Self::Basic {
                username: body.optional("username").parsed(String::new(), username),
                password: secret_in(body.optional("password")),
            },
            AuthKind::Bearer => Self::Bearer { token: secret_in(body.optional("token")) },
            AuthKind::Header => Self::Header {
                name: body
                    .optional("name")
                    .parsed(String::new(), |name| header::name(name).map(|()| name.to_owned())),
                value: secret_in(body.optional("value")),
            },
        }
    }
}

impl Auth {
    /// The fields that hold secrets.
    pub const SECRETS: &'static [&'static str] = &["password", "token", "value"];

    /// The secret and the name of its field.
    pub fn secret_mut(&mut self) -> Option<(&'static str, &mut Secret)> {
        match self {
            Self::None => None,
            Self::Basic { password, .. } => password.as_mut().map(|it| ("password", it)),
            Self::Bearer { token } => token.as_mut().map(|it| ("token", it)),
            Self::Header { value, .. } => value.as_mut().map(|it| ("value", it)),
        }
    }

    /// The secret and the name of its field.
    pub fn secret(&self) -> Option<(&'static str, &Secret)> {
        match self {
            Self::None => None,
            Self::Basic { password, .. } => password.as_ref().map(|it| ("password", it)),
            Self::Bearer { token } => token.as_ref().map(|it| ("token", it)),
            Self::Header { value, .. } => value.as_ref().map(|it| ("value", it)),
        }
    }

    /// The missing field, if any.
    pub fn lacks(&self) -> Option<&'static str> {
        match self {
            Self::Basic { username: None, .. } => Some("auth.username"),
            Self::Basic { password: None, .. } => Some("auth.password"),
            Self::Bearer { token: None } => Some("auth.token"),
            Self::Header { name: None, .. } => Some("auth.name"),
            Self::Header { value: None, .. } => Some("auth.value"),
            _ => None,
        }
    }
}

/// RFC 7617 2: the first colon ends the name.
fn username(text: &str) -> Read<String> {
    words::at_most(text, USERNAME_CHARS_MAX)?;
    words::is_one_line(text)?;
    if text.contains(':') {
        return Err("must not contain a colon".to_owned());
    }
    Ok(text.to_owned())
}

fn secret_in<P: Presence>(field: Field<'_, P>) -> P::Out<Secret> {
    field.parsed(Secret::default(), secret::read)
}

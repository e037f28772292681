//! How a webhook's request says who sends it.
//!
//! Its secrets are sealed where they are kept and never returned: answers hide them, and what hides them,
//! sent back, means the secret that is kept.

use kernel::fields::{Field, Fields, Presence};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    super::words::{self, Read},
    header,
    secret::{self, Secret},
};

const USERNAME_CHARS_MAX: usize = 255;

/// The credentials of a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Auth {
    #[default]
    None,
    /// A name and a password: RFC 7617.
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
    /// A header of the receiver's own.
    Header {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Secret>,
    },
}

#[derive(Clone, Copy)]
enum Kind {
    None,
    Basic,
    Bearer,
    Header,
}

const KINDS: &[(&str, Kind)] = &[
    ("none", Kind::None),
    ("basic", Kind::Basic),
    ("bearer", Kind::Bearer),
    ("header", Kind::Header),
];

impl kernel::fields::FromFields for Auth {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        match body.required("type").one_of(KINDS) {
            Kind::None => Self::None,
            Kind::Basic => Self::Basic {
                username: body.optional("username").parsed(String::new(), username),
                password: secret_in(body.optional("password")),
            },
            Kind::Bearer => Self::Bearer { token: secret_in(body.optional("token")) },
            Kind::Header => Self::Header {
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

    /// The secret in it, and the name of its field.
    pub fn secret_mut(&mut self) -> Option<(&'static str, &mut Secret)> {
        match self {
            Self::None => None,
            Self::Basic { password, .. } => password.as_mut().map(|it| ("password", it)),
            Self::Bearer { token } => token.as_mut().map(|it| ("token", it)),
            Self::Header { value, .. } => value.as_mut().map(|it| ("value", it)),
        }
    }

    /// The secret in it, and the name of its field.
    pub fn secret(&self) -> Option<(&'static str, &Secret)> {
        match self {
            Self::None => None,
            Self::Basic { password, .. } => password.as_ref().map(|it| ("password", it)),
            Self::Bearer { token } => token.as_ref().map(|it| ("token", it)),
            Self::Header { value, .. } => value.as_ref().map(|it| ("value", it)),
        }
    }

    /// What it lacks to be used.
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

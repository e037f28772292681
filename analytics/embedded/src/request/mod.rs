//! What a request asks: its URL, its form and its headers, read into one value. Nothing is accepted and then ignored.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, Method, header};

use crate::{
    auth::Given,
    fault::{Fault, code},
    session::Setting,
};

/// Fields of a URL and a form together.
const FIELDS_MAX: usize = 1024;

/// Parameters of a request, from its URL and headers.
#[derive(Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own in ClickHouse's interface"
)]
pub(crate) struct Request {
    /// The statement, or its beginning: the body continues it.
    pub(crate) query: String,
    pub(crate) query_id: Option<String>,
    pub(crate) database: Option<String>,
    /// The role whose rights the statement has.
    pub(crate) role: Option<String>,
    pub(crate) default_format: Option<String>,
    /// Answers as compressed blocks.
    pub(crate) compress: bool,
    /// The body is compressed blocks.
    pub(crate) decompress: bool,
    /// Bytes of an answer held back before its head is sent; none for the usual amount.
    pub(crate) buffer_bytes: Option<usize>,
    /// The answer is held back until it is whole.
    pub(crate) wait_end_of_query: bool,
    /// Values for the statement's `{name:Type}`.
    pub(crate) params: Vec<(String, String)>,
    /// The engine's settings, in the order given.
    pub(crate) settings: Vec<Setting>,
    /// Nothing may be changed: the method is GET or HEAD.
    pub(crate) read_only: bool,
    /// Only the head of the answer is wanted.
    pub(crate) head_only: bool,
    user: Option<String>,
    password: Option<String>,
}

impl Request {
    /// Reads method, URL and headers.
    pub(crate) fn read(
        method: &Method,
        url_query: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<Self, Fault> {
        let mut request = Self {
            read_only: matches!(*method, Method::GET | Method::HEAD),
            head_only: *method == Method::HEAD,
            ..Self::default()
        };
        for (name, value) in url::form_urlencoded::parse(url_query.unwrap_or_default().as_bytes()) {
            request.field(&name, value)?;
        }
        let text =
            |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        for (header, slot) in [
            ("x-clickhouse-user", &mut request.user),
            ("x-clickhouse-key", &mut request.password),
            ("x-clickhouse-database", &mut request.database),
            ("x-clickhouse-format", &mut request.default_format),
        ] {
            if let Some(value) = text(header) {
                slot.get_or_insert(value);
            }
        }
        if let Some((user, password)) =
            headers.get(header::AUTHORIZATION).and_then(|value| basic(value.as_bytes()))
        {
            if request.user.is_some() || request.password.is_some() {
                return Err(Fault::new(
                    code::AUTHENTICATION_FAILED,
                    "AUTHENTICATION_FAILED",
                    "Invalid authentication: it is not allowed to use Authorization HTTP header and another credential at once",
                ));
            }
            (request.user, request.password) = (Some(user), Some(password));
        }
        if let Some(encoding) =
            text("content-encoding").filter(|encoding| !encoding.eq_ignore_ascii_case("identity"))
        {
            return Err(not_implemented(format_args!(
                "Content-Encoding {encoding}: compress the body with decompress=1"
            )));
        }
        Ok(request)
    }

    /// The credential it came with.
    pub(crate) fn credential(&self) -> Option<Given<'_>> {
        match (&self.user, &self.password) {
            (None, None) => None,
            (user, password) => Some(Given {
                user: user.as_deref().unwrap_or("default"),
                password: password.as_deref().unwrap_or_default(),
            }),
        }
    }

    /// Takes one field of the URL or the form.
    pub(crate) fn field(&mut self, name: &str, value: Cow<'_, str>) -> Result<(), Fault> {
        if self.params.len() + self.settings.len() >= FIELDS_MAX {
            return Err(bad(format_args!("more than {FIELDS_MAX} fields")));
        }
        match name {
            "query" => self.query.push_str(&value),
            "query_id" => self.query_id = Some(value.into_owned()).filter(|id| !id.is_empty()),
            "database" => self.database = Some(value.into_owned()).filter(|name| !name.is_empty()),
            "default_format" => {
                self.default_format = Some(value.into_owned()).filter(|name| !name.is_empty());
            }
            "user" => self.user = Some(value.into_owned()),
            "password" => self.password = Some(value.into_owned()),
            "compress" => self.compress = flag(name, &value)?,
            "decompress" => self.decompress = flag(name, &value)?,
            "wait_end_of_query" => self.wait_end_of_query = flag(name, &value)?,
            "buffer_size" => {
                self.buffer_bytes = Some(
                    value
                        .parse()
                        .map_err(|_| bad(format_args!("buffer_size must be a number of bytes")))?,
                );
            }
            // Sessions: each statement has one of its own here, and it ends with the statement.
            "session_id" | "session_timeout" | "session_check" | "close_session" => {
                return Err(not_implemented(format_args!(
                    "{name}: sessions are not kept between requests"
                )));
            }
            "role" if self.role.is_some() => {
                return Err(not_implemented(format_args!("several roles")));
            }
            "role" => self.role = Some(value.into_owned()).filter(|role| !role.is_empty()),
            "quota_key" => {
                return Err(not_implemented(format_args!(
                    "{name}: there is one user, without quotas"
                )));
            }
            "stacktrace" if flag(name, &value)? => {
                return Err(not_implemented(format_args!("stacktrace")));
            }
            "client_protocol_version" if value != "0" => {
                return Err(not_implemented(format_args!("client_protocol_version")));
            }
            "stacktrace" | "client_protocol_version" => {}
            _ => {
                if let Some(param) = name.strip_prefix("param_") {
                    self.params.push((param.to_owned(), value.into_owned()));
                } else {
                    let name = setting_name(name)?.to_owned();
                    self.settings.push(Setting { name, value: value.into_owned() });
                }
            }
        }
        Ok(())
    }
}

/// Settings have names of letters, digits, underscores and dots; whether there is such a setting is for the engine to say.
fn setting_name(name: &str) -> Result<&str, Fault> {
    let plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.');
    if plain {
        Ok(name)
    } else {
        Err(Fault::new(
            code::UNKNOWN_SETTING,
            "UNKNOWN_SETTING",
            format_args!("Unknown setting '{}'", name.escape_default()),
        ))
    }
}

/// User and password of `Authorization: Basic …`.
fn basic(value: &[u8]) -> Option<(String, String)> {
    let value = std::str::from_utf8(value).ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (user, password) = pair.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

fn flag(name: &str, value: &str) -> Result<bool, Fault> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" | "" => Ok(false),
        _ => Err(bad(format_args!("{name} must be 0 or 1"))),
    }
}

fn bad(message: std::fmt::Arguments<'_>) -> Fault {
    Fault::new(code::BAD_ARGUMENTS, "BAD_ARGUMENTS", message)
}

pub(crate) fn not_implemented(what: std::fmt::Arguments<'_>) -> Fault {
    Fault::new(
        code::NOT_IMPLEMENTED,
        "NOT_IMPLEMENTED",
        format_args!("Not supported by the embedded engine: {what}"),
    )
}

#[cfg(test)]
mod tests;

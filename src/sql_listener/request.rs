//! What a request says: credential, statement, parameters and settings, from its URL, its headers and its body.

use axum::body::Bytes;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, header, request::Parts};
use secrecy::SecretString;

use crate::{
    answer::Encoding,
    catalog::DATABASE,
    fault::{Code, Fault},
    settings::STATEMENT_BYTES_MAX,
    statement::{Param, Setting},
};

/// Parameters and settings of one request.
const FIELDS_MAX: usize = 1_000;
/// Bytes of an id that a client gives its statement.
const QUERY_ID_BYTES_MAX: usize = 200;
/// The database of clients that name none.
const DEFAULT_DATABASE: &str = "default";
const X_USER: &str = "x-clickhouse-user";
const X_KEY: &str = "x-clickhouse-key";

/// The password of a request: in `Authorization: Basic`, in `X-ClickHouse-Key`, or in the URL.
pub(crate) fn password(head: &Parts) -> Result<SecretString, Fault> {
    let in_url = |wanted: &str| {
        let query = head.uri.query().unwrap_or_default();
        let mut fields = url::form_urlencoded::parse(query.as_bytes());
        fields.find_map(|(name, value)| (name == wanted).then(|| value.into_owned()))
    };
    let in_header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let basic = basic(&head.headers)?;
    let has_other = in_header(X_USER).is_some() || in_header(X_KEY).is_some();
    if basic.is_some() && has_other {
        let message =
            "It is not allowed to use Authorization HTTP header and another credential at once";
        return Err(Fault::new(Code::AuthenticationFailed, message));
    }
    basic
        .or_else(|| in_header(X_KEY).map(str::to_owned))
        .or_else(|| in_url("password"))
        .filter(|password| !password.is_empty())
        .map(SecretString::from)
        .ok_or_else(|| {
            Fault::new(
                Code::AuthenticationFailed,
                "Authentication is required: any user, and as the password an API key with the scope analytics:sql",
            )
        })
}

/// The password of `Authorization: Basic`.
fn basic(headers: &HeaderMap) -> Result<Option<String>, Fault> {
    let refused =
        || Fault::new(Code::AuthenticationFailed, "The Authorization header cannot be read");
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let text = value.to_str().map_err(|_| refused())?;
    let (scheme, coded) = text.split_once(' ').ok_or_else(refused)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(refused());
    }
    let pair = BASE64_STANDARD.decode(coded.trim()).map_err(|_| refused())?;
    let pair = String::from_utf8(pair).map_err(|_| refused())?;
    let (_, password) = pair.split_once(':').ok_or_else(refused)?;
    Ok(Some(password.to_owned()))
}

/// A request, without its credential.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) statement: String,
    pub(crate) params: Vec<Param>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) default_format: Option<String>,
    /// The id that the client gives its statement.
    pub(crate) query_id: Option<String>,
    /// The answer in ClickHouse's compressed blocks.
    pub(crate) blocks: bool,
    /// The answer is held back until it is whole, as far as there is room for it.
    pub(crate) wait_end_of_query: bool,
    /// Whether the answer may be compressed as the client accepts it.
    pub(crate) may_compress: bool,
    /// The version of the native format that the client would read.
    pub(crate) protocol_version: u64,
    /// How the client accepts the answer to be compressed.
    pub(crate) accepted: Option<Encoding>,
}

impl Asked {
    /// Reads the URL and the headers.
    pub(crate) fn of_head(head: &Parts) -> Result<Self, Fault> {
        let mut asked = Self { accepted: Encoding::accepted(&head.headers), ..Self::default() };
        let query = head.uri.query().unwrap_or_default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            asked.field(&name, &value)?;
        }
        let in_header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(database) = in_header("x-clickhouse-database") {
            check_database(database)?;
        }
        if asked.default_format.is_none() {
            asked.default_format = in_header("x-clickhouse-format").map(str::to_owned);
        }
        Ok(asked)
    }

    /// Adds the body: the rest of the statement, or a form.
    pub(crate) async fn add_body(&mut self, head: &Parts, body: Vec<u8>) -> Result<(), Fault> {
        let content_type = head.headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        if let Some(boundary) = content_type.and_then(|it| multer::parse_boundary(it).ok()) {
            return self.add_form(boundary, body).await;
        }
        let body = String::from_utf8(body)
            .map_err(|_| Fault::syntax("The statement is not valid UTF-8"))?;
        if !self.statement.is_empty() && !body.is_empty() {
            self.statement.push('\n');
        }
        self.statement.push_str(&body);
        if self.statement.len() > STATEMENT_BYTES_MAX {
            return Err(too_large());
        }
        Ok(())
    }

    async fn add_form(&mut self, boundary: String, body: Vec<u8>) -> Result<(), Fault> {
        let unreadable =
            |error: multer::Error| Fault::bad(format!("The form cannot be read: {error}"));
        let whole = http_body_util::Full::new(Bytes::from(body));
        let data = http_body_util::BodyDataStream::new(whole);
        let mut form = multer::Multipart::new(data, boundary);
        while let Some(field) = form.next_field().await.map_err(unreadable)? {
            if field.file_name().is_some() {
                return Err(Fault::not_implemented("External data is not taken"));
            }
            let name = field.name().unwrap_or_default().to_owned();
            let value = field.text().await.map_err(unreadable)?;
            self.field(&name, &value)?;
        }
        Ok(())
    }

    fn field(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        match name {
            "query" => self.statement.push_str(value),
            "database" => check_database(value)?,
            "default_format" => {
                self.default_format = Some(value.to_owned()).filter(|it| !it.is_empty());
            }
            "query_id" => self.query_id = query_id(value)?,
            "compress" => self.blocks = flag(name, value)?,
            "wait_end_of_query" => self.wait_end_of_query = flag(name, value)?,
            "enable_http_compression" => self.may_compress = flag(name, value)?,
            "decompress" if flag(name, value)? => {
                return Err(Fault::not_implemented(
                    "decompress: compress the body with Content-Encoding gzip or zstd",
                ));
            }
            "stacktrace" if flag(name, value)? => {
                return Err(Fault::not_implemented("stacktrace"));
            }
            // Read before.
            "user" | "password" |
            // There are no sessions: a statement has no effect on the next.
            "session_id" | "session_timeout" | "session_check" | "close_session" |
            // Of no effect where everything is read.
            "decompress" | "stacktrace" | "buffer_size" | "http_zlib_compression_level" |
            "send_progress_in_http_headers" | "http_headers_progress_interval_ms" |
            // Holds for every statement.
            "cancel_http_readonly_queries_on_client_close" => {}
            "readonly" if matches!(value, "1" | "2") => {}
            "client_protocol_version" => {
                let not_number = |_| Fault::bad("client_protocol_version must be a number");
                self.protocol_version = value.parse().map_err(not_number)?;
            }
            "role" | "quota_key" | "profile" => {
                return Err(Fault::not_implemented(format!("{name} is not taken")));
            }
            _ => self.param_or_setting(name, value)?,
        }
        Ok(())
    }

    fn param_or_setting(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        if self.params.len() + self.settings.len() >= FIELDS_MAX {
            return Err(Fault::bad(format!("More than {FIELDS_MAX} parameters and settings")));
        }
        if let Some(param) = name.strip_prefix("param_") {
            self.params.push(Param { name: param.to_owned(), value: value.to_owned() });
            return Ok(());
        }
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            let name = name.escape_default();
            return Err(Fault::new(Code::UnknownSetting, format!("Unknown setting '{name}'")));
        }
        self.settings.push(Setting { name: name.to_owned(), value: value.to_owned() });
        Ok(())
    }
}

fn check_database(name: &str) -> Result<(), Fault> {
    if matches!(name, "" | DEFAULT_DATABASE | DATABASE) {
        return Ok(());
    }
    let name = name.escape_default();
    let message = format!("Database {name} does not exist: there is {DATABASE}");
    Err(Fault::new(Code::UnknownDatabase, message))
}

fn query_id(value: &str) -> Result<Option<String>, Fault> {
    let is_plain = value.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if value.len() > QUERY_ID_BYTES_MAX || !is_plain {
        return Err(Fault::bad(format!(
            "query_id must have at most {QUERY_ID_BYTES_MAX} characters of ASCII"
        )));
    }
    Ok(Some(value.to_owned()).filter(|id| !id.is_empty()))
}

fn flag(name: &str, value: &str) -> Result<bool, Fault> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" | "" => Ok(false),
        _ => Err(Fault::bad(format!("{name} must be 0 or 1"))),
    }
}

pub(crate) fn too_large() -> Fault {
    Fault::new(Code::QueryTooLarge, format!("A statement has at most {STATEMENT_BYTES_MAX} bytes"))
}

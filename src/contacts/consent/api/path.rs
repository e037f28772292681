//! Path parameters of `/subscriptions/contacts`: an invalid id or channel is 400.

use axum::extract::FromRequestParts;
use http::request::Parts;
use kernel::{Channel, Error, FieldError, ListId, Result, UserId};
use uuid::Uuid;
use web::http::{ApiError, ApiResult, Path};

/// Characters of a UUID with hyphens, the only form accepted here.
const UUID_CHARS: usize = 36;
/// The error for an invalid id.
const NO_CONTACT_ID: &str = "must be a contact id: 24 hexadecimal characters, or a UUID";

/// The contact in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContactId(Option<UserId>);

impl ContactId {
    /// `None` for an invalid id. A UUID is valid but belongs to no contact, since internal ids are never UUIDs.
    fn read(text: &str) -> Option<Self> {
        let is_uuid = || text.len() == UUID_CHARS && Uuid::try_parse(text).is_ok();
        match text.parse() {
            Ok(user) => Some(Self(Some(user))),
            Err(_) => is_uuid().then_some(Self(None)),
        }
    }

    /// The contact, if the id can belong to one.
    pub(super) fn possible(self) -> Option<UserId> {
        self.0
    }

    /// # Errors
    /// Not found for a UUID.
    pub(super) fn user(self) -> Result<UserId> {
        self.0.ok_or(Error::NotFound("Contact"))
    }
}

/// Reads the parameters of a path and answers 400 with every error.
#[derive(Debug, Default)]
struct Reader {
    problems: Vec<FieldError>,
}

impl Reader {
    fn contact(&mut self, text: &str) -> ContactId {
        ContactId::read(text).unwrap_or_else(|| {
            self.problems.push(FieldError::new("userId", NO_CONTACT_ID));
            ContactId(None)
        })
    }

    fn channel(&mut self, text: &str) -> Channel {
        text.parse().unwrap_or_else(|_| {
            let names: Vec<&str> = Channel::ALL.into_iter().map(Channel::as_str).collect();
            let problem = format!("must be one of: {}", names.join(", "));
            self.problems.push(FieldError::new("channel", problem));
            Channel::Email
        })
    }

    fn end<T>(self, read: T) -> Result<T> {
        if self.problems.is_empty() { Ok(read) } else { Err(Error::Invalid(self.problems)) }
    }
}

#[derive(Debug)]
pub(super) struct OfContact(pub(super) ContactId);

impl<S: Send + Sync> FromRequestParts<S> for OfContact {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let Path(contact) = Path::<String>::from_request_parts(parts, state).await?;
        let mut reader = Reader::default();
        let contact = reader.contact(&contact);
        reader.end(Self(contact)).map_err(ApiError)
    }
}

#[derive(Debug)]
pub(super) struct OfChannel {
    pub(super) contact: ContactId,
    pub(super) channel: Channel,
}

impl<S: Send + Sync> FromRequestParts<S> for OfChannel {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let path = Path::<(String, String)>::from_request_parts(parts, state).await?;
        let Path((contact, channel)) = path;
        let mut reader = Reader::default();
        let (contact, channel) = (reader.contact(&contact), reader.channel(&channel));
        reader.end(Self { contact, channel }).map_err(ApiError)
    }
}

#[derive(Debug)]
pub(super) struct OfList {
    pub(super) contact: ContactId,
    list: Option<ListId>,
}

impl OfList {
    /// # Errors
    /// Not found for a text that is not an id.
    pub(super) fn list(&self) -> Result<ListId> {
        self.list.ok_or(Error::NotFound("List"))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for OfList {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let Path((contact, list)) =
            Path::<(String, String)>::from_request_parts(parts, state).await?;
        let mut reader = Reader::default();
        let contact = reader.contact(&contact);
        reader.end(Self { contact, list: list.parse().ok() }).map_err(ApiError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_24_hexadecimal_characters_or_a_uuid() {
        let user = |text: &str| ContactId::read(text).map(ContactId::possible);
        assert!(user("0123456789abcdef01234567").unwrap().is_some());
        assert!(user("0123456789ABCDEF01234567").unwrap().is_some());
        assert_eq!(user("01890a5d-ac96-774b-bcce-b302099a8057"), Some(None));
        for text in [
            "",
            "ann",
            "0123456789abcdef0123456",
            "0123456789abcdef012345678",
            "0123456789abcdef0123456g",
            "01890a5dac96774bbcceb302099a8057",
            "{01890a5d-ac96-774b-bcce-b302099a8057}",
            "01890a5d-ac96-774b-bcce-b302099a805",
        ] {
            assert_eq!(user(text), None, "{text}");
        }
    }
}

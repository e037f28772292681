//! A secret text: sealed where it is stored, replaced by a placeholder in answers.

use std::fmt;

use engines::vault::Vault;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::words::{self, Read};

/// Characters of a secret in a request.
const SECRET_CHARS_MAX: usize = 4_096;
/// Characters of a stored secret: base64 of four bytes a character, and the seal.
const SEALED_CHARS_MAX: usize = SECRET_CHARS_MAX * 4 * 4 / 3 + 64;

/// A secret, in plain text or sealed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The placeholder in answers. In a request it stands for the stored secret.
    pub const HIDDEN: &'static str = "********";

    /// The secret as it was sent or stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn text_mut(&mut self) -> &mut String {
        &mut self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Reads a secret: one line, since it goes into a header.
pub(super) fn read(text: &str) -> Read<Secret> {
    if !is_sealed_text(text)? {
        words::at_most(text, SECRET_CHARS_MAX)?;
        words::is_one_line(text)?;
    }
    Ok(Secret(text.to_owned()))
}

/// Whether a text has the form of a sealed secret, which may be longer than the secret itself.
pub(super) fn is_sealed_text(text: &str) -> Read<bool> {
    if !Vault::is_sealed(text) {
        return Ok(false);
    }
    words::at_most(text, SEALED_CHARS_MAX)?;
    words::is_one_line(text)?;
    Ok(true)
}

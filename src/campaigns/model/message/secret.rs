//! A text that nobody is shown: sealed where it is kept, hidden where it is answered.

use std::fmt;

use engines::vault::Vault;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::words::{self, Read};

/// Characters of a secret as it is sent.
const SECRET_CHARS_MAX: usize = 4_096;
/// Characters of a secret as it is kept: four bytes a character in base64, and what seals them.
const SEALED_CHARS_MAX: usize = SECRET_CHARS_MAX * 4 * 4 / 3 + 64;

/// A secret: as its author sent it, or sealed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// What stands for a secret in answers. Sent back it means the secret that is kept.
    pub const HIDDEN: &'static str = "********";

    /// The secret as it was sent or as it is kept.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, to be replaced.
    pub fn text_mut(&mut self) -> &mut String {
        &mut self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Reads a secret: one line, for it goes into a header.
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

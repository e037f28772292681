//! A text that nobody is shown: sealed where it is kept, hidden where it is answered.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::words::{self, Read};
use crate::vault::Vault;

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

    /// Puts another text in its place.
    pub fn set(&mut self, text: String) {
        self.0 = text;
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Reads a secret: one line, for it goes into a header.
pub(super) fn read(text: &str) -> Read<Secret> {
    let chars_max = if Vault::is_sealed(text) { SEALED_CHARS_MAX } else { SECRET_CHARS_MAX };
    words::at_most(text, chars_max)?;
    words::is_one_line(text)?;
    Ok(Secret(text.to_owned()))
}

//! A text that no log shows.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::words::{self, Read};

/// Characters of a secret as it is sent.
const SECRET_CHARS_MAX: usize = 4_096;

/// A secret. It is written out where its campaign is, and nowhere else.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The secret as it is kept.
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
    words::at_most(text, SECRET_CHARS_MAX)?;
    words::is_one_line(text)?;
    Ok(Secret(text.to_owned()))
}

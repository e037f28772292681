//! The switch of the console.

use serde::Deserialize;

/// Whether there is a console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Console {
    On,
    Off,
}

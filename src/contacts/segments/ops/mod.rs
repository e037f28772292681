//! Operations on segments.

mod change;
mod read;

use kernel::Error;

pub use self::{change::*, read::*};

/// The answer for a segment that does not exist or belongs to another workspace.
const NOT_FOUND: Error = Error::NotFound("Segment");

//! `If-Match`: a change that is made only where the content is still that which the caller has seen (RFC 9110, 13.1.1).

use kernel::{Error, Result};

use super::Campaign;

/// The ETags that a change allows; all of them without the header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Precondition {
    allowed: Option<Vec<String>>,
}

impl Precondition {
    /// Reads the header: ETags between commas, or `*`. An ETag that a proxy has made weak counts as the strong one.
    ///
    /// # Errors
    /// A bad request where it is neither.
    pub fn read<'h>(headers: impl Iterator<Item = &'h str>) -> Result<Self> {
        let mut allowed: Option<Vec<String>> = None;
        for item in headers.flat_map(|header| header.split(',')).map(str::trim) {
            if item == "*" {
                return Ok(Self::default());
            }
            let tag = item.strip_prefix("W/").unwrap_or(item);
            let is_quoted = tag.len() >= 2 && tag.starts_with('"') && tag.ends_with('"');
            if !is_quoted {
                return Err(Error::bad_request(
                    "If-Match must be *, or ETags in quotes with commas between them",
                ));
            }
            allowed.get_or_insert_default().push(tag.to_owned());
        }
        Ok(Self { allowed })
    }

    /// # Errors
    /// A conflict if the campaign has another ETag than those allowed.
    pub fn check(&self, campaign: &Campaign) -> Result<()> {
        let Some(allowed) = &self.allowed else { return Ok(()) };
        let tag = campaign.etag();
        if allowed.contains(&tag) {
            return Ok(());
        }
        Err(Error::Conflict(format!(
            "The campaign has been changed: If-Match names {}, and its ETag is {tag}",
            allowed.join(", ")
        )))
    }
}

impl Campaign {
    /// The ETag of its content: the number of its newest version, and whether that is not published yet. Pausing and the
    /// like leave it as it is.
    pub fn etag(&self) -> String {
        let pending = if self.pending_draft.is_some() { "-pending" } else { "" };
        format!("\"{}{pending}\"", self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[&str]) -> Result<Precondition> {
        Precondition::read(headers.iter().copied())
    }

    #[test]
    fn etags_stand_between_commas_and_in_several_headers() {
        let of = |tags: &[&str]| {
            let allowed = tags.iter().map(|tag| (*tag).to_owned()).collect();
            Precondition { allowed: Some(allowed) }
        };
        assert_eq!(
            read(&["\"4\" , W/\"5-pending\"", "\"6\""]).unwrap(),
            of(&["\"4\"", "\"5-pending\"", "\"6\""])
        );
        assert_eq!(read(&["*"]).unwrap(), Precondition::default());
        assert_eq!(read(&[]).unwrap(), Precondition::default());
        for wrong in ["", "4", "\"", "\"4\",", "\"4"] {
            assert!(matches!(read(&[wrong]), Err(Error::BadRequest { .. })), "{wrong}");
        }
    }
}

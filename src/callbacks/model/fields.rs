//! Header fields, and the blocks of fields in the machine-readable parts of reports.

use mail_parser::{Message, MessagePart, MimeHeaders as _};

/// Bytes of a part that are read.
const PART_BYTES_MAX: usize = 256 << 10;

/// A field with its value, unfolded.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) value: String,
}

impl Field {
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// The value of the first field with the name; empty if there is none.
pub(super) fn value<'a>(fields: &'a [Field], name: &str) -> &'a str {
    fields.iter().find(|field| field.is_named(name)).map_or("", |field| &field.value)
}

/// Blocks of fields with blank lines between them.
pub(super) fn blocks(bytes: &[u8]) -> Vec<Vec<Field>> {
    let bytes = bytes.get(..PART_BYTES_MAX).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let mut blocks: Vec<Vec<Field>> = vec![Vec::new()];
    for line in text.lines() {
        if line.trim().is_empty() {
            if blocks.last().is_some_and(|block| !block.is_empty()) {
                blocks.push(Vec::new());
            }
            continue;
        }
        let Some(block) = blocks.last_mut() else { continue };
        if line.starts_with([' ', '\t']) {
            if let Some(field) = block.last_mut() {
                field.value.push(' ');
                field.value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            block.push(Field { name: name.trim().to_owned(), value: value.trim().to_owned() });
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// Whether a part has the content type.
pub(super) fn is(part: &MessagePart<'_>, kind: &str, subtype: &str) -> bool {
    part.content_type().is_some_and(|content_type| {
        content_type.ctype().eq_ignore_ascii_case(kind)
            && content_type.subtype().is_some_and(|own| own.eq_ignore_ascii_case(subtype))
    })
}

/// The blocks of the first part with the type `message` and one of the subtypes.
pub(super) fn blocks_of_part(mail: &Message<'_>, subtypes: &[&str]) -> Option<Vec<Vec<Field>>> {
    let is_wanted = |part: &&MessagePart<'_>| subtypes.iter().any(|it| is(part, "message", it));
    mail.parts.iter().find(is_wanted).map(|part| blocks(part.contents()))
}

/// The address in `rfc822; ann@example.test`, or alone.
pub(super) fn address_in(value: &str) -> Option<String> {
    let address = value.split_once(';').map_or(value, |(_, address)| address);
    let address = address.trim().trim_start_matches('<').trim_end_matches('>').trim();
    (address.contains('@') && !address.contains(char::is_whitespace)).then(|| address.to_owned())
}

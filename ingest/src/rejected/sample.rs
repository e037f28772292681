//! The text of one event within a body.

/// The first JSON value of a text, cut at a number of bytes. Reads no more than these. White space before it is
/// left out; of a text that is not JSON the result is any beginning of it.
pub fn first_value(text: &[u8], bytes_max: usize) -> &[u8] {
    let text = text.trim_ascii_start();
    let text = text.get(..bytes_max).unwrap_or(text);
    let mut open = 0_usize;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => open += 1,
            b'}' | b']' if open <= 1 => {
                // The bracket closes the value, or belongs to what is around it.
                at -= usize::from(open == 0);
                break;
            }
            b'}' | b']' => open -= 1,
            b'"' => {
                at = string_end(text, at);
                if open == 0 {
                    break;
                }
            }
            b',' | b' ' | b'\n' | b'\r' | b'\t' if open == 0 => {
                at -= 1;
                break;
            }
            _ => {}
        }
    }
    text.get(..at).unwrap_or(text)
}

/// Behind the closing quote of the string that begins there.
fn string_end(text: &[u8], begin: usize) -> usize {
    let mut at = begin;
    loop {
        match text.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return text.len(),
        }
    }
}

//! Texts in commands of a shell.

/// A text as one argument of a shell. In single quotes, a quote ends them, stands alone and begins them anew.
pub fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

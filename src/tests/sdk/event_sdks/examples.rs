//! The README's examples for the official packages.

use super::*;

/// The address and the key of the README's examples.
const README_HOST: &str = "http://127.0.0.1:8080";
const README_KEY: &str = "WRITE_KEY";

/// The README's example for a package, in the block that names it, with this key.
pub(super) fn example(package: &str, key: &str) -> String {
    let readme = include_str!("../../../sdk/README.md");
    let end = format!(" install {package}");
    let line = readme.lines().find(|line| line.ends_with(&end));
    let start = readme.find(line.expect("an example")).unwrap();
    let (code, _) = readme[start..].split_once("```").unwrap();
    with_key(code, key)
}

/// Code with the address of the server and this key instead of those of the README.
pub(super) fn with_key(code: &str, key: &str) -> String {
    code.replace(README_HOST, &server().url).replace(README_KEY, key)
}

//! Cookies of the console: the session, and the address that was wanted before signing in.

use std::{fmt::Write as _, time::Duration};

use http::{HeaderMap, HeaderValue, header::COOKIE};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The cookie that holds a session's token.
pub const SESSION_COOKIE: &str = "millrace_session";
/// The cookie that holds the address that was wanted before signing in.
pub(super) const WANTED_COOKIE: &str = "millrace_wanted";
/// The cookie of an attempt to sign in by the OpenID provider.
pub(super) const ATTEMPT_COOKIE: &str = "millrace_openid";
/// How long such an attempt may take.
pub(super) const ATTEMPT_LIFE: Duration = Duration::from_mins(10);
/// How long a wanted address is kept.
pub(super) const WANTED_LIFE: Duration = Duration::from_mins(10);
/// Longest address that is kept, in bytes.
const WANTED_BYTES_MAX: usize = 2_048;

/// The cookies of a request.
#[derive(Debug, Clone, Copy)]
pub struct Cookies<'h>(pub &'h HeaderMap);

impl Cookies<'_> {
    /// The value of a cookie; of several under one name the first.
    pub fn get(self, name: &str) -> Option<String> {
        let lines = self.0.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|it| it.split_once('='));
        let (_, value) = pairs.find(|(key, _)| key.trim() == name)?;
        percent_decode_str(value.trim()).decode_utf8().ok().map(Into::into)
    }

    /// The address that was wanted before signing in.
    pub(super) fn wanted(self) -> Option<String> {
        self.get(WANTED_COOKIE).filter(|address| is_wanted(address))
    }
}

/// The value of a `Set-Cookie` header. Scripts cannot read the cookie, and other sites' forms do not send it.
pub fn set_cookie(name: &str, value: &str, max_age: Duration, is_secure: bool) -> HeaderValue {
    let value = utf8_percent_encode(value, NON_ALPHANUMERIC);
    let mut text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=");
    // Writing to a string does not fail.
    let _ = write!(text, "{}", max_age.as_secs());
    if is_secure {
        text.push_str("; Secure");
    }
    HeaderValue::try_from(text).expect("encoded values are ASCII")
}

/// The header that removes a cookie.
pub fn forget(name: &str, is_secure: bool) -> HeaderValue {
    set_cookie(name, "", Duration::ZERO, is_secure)
}

/// The header that keeps an address until the person is signed in.
pub(super) fn keep_wanted(address: &str, is_secure: bool) -> HeaderValue {
    set_cookie(WANTED_COOKIE, address, WANTED_LIFE, is_secure)
}

/// Whether signing in may lead to this address: a path of the console on this server, and nothing that browsers take
/// for another host.
pub(super) fn is_wanted(address: &str) -> bool {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let is_of_console = path == crate::HOME || path.starts_with("/console/");
    let is_plain = address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let signs_in =
        path.strip_prefix(crate::SIGN_IN).is_some_and(|it| it.is_empty() || it.starts_with('/'));
    let leads_on = !signs_in && path != crate::SIGN_OUT && path != members::SET_PASSWORD_PATH;
    let climbs = path.split('/').any(|segment| segment == "." || segment == "..");
    is_of_console
        && is_plain
        && leads_on
        && !climbs
        && !path.contains("//")
        && address.len() <= WANTED_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_console_are_wanted() {
        for address in ["/console", "/console/people?query=ann%20b", "/console?a=//b", "/console/x"]
        {
            assert!(is_wanted(address), "{address}");
        }
        for address in [
            "",
            "/",
            "//host/console",
            "/\\host",
            "/console\\..\\x",
            "https://host/console",
            "/consoles",
            "/console//host",
            "/console/../docs",
            "/console/login?token=x",
            "/console/login/openid",
            "/console/password?token=x",
            "/console/logout",
            "/console/\u{7}",
            "/console/ä",
            "/console/a b",
        ] {
            assert!(!is_wanted(address), "{address}");
        }
        assert!(!is_wanted(&format!("/console/{}", "x".repeat(WANTED_BYTES_MAX))));
    }

    #[test]
    fn cookies_are_read_as_they_are_written() {
        let value = set_cookie("a", "/console?x=1;y", WANTED_LIFE, true);
        let text = value.to_str().unwrap();
        assert!(text.ends_with("HttpOnly; SameSite=Lax; Max-Age=600; Secure"), "{text}");
        let mut headers = HeaderMap::new();
        let pair = text.split(';').next().unwrap();
        headers.append(COOKIE, HeaderValue::try_from(format!("b=2; {pair}; a=3")).unwrap());
        assert_eq!(Cookies(&headers).get("a").as_deref(), Some("/console?x=1;y"));
        assert_eq!(Cookies(&headers).get("b").as_deref(), Some("2"));
        assert_eq!(Cookies(&headers).get("c"), None);
    }
}

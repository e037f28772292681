//! The address to open after signing in: the page that a person asked for, or the one on which they were.

use http::{
    HeaderMap, HeaderValue, Method,
    header::{ACCEPT, HOST, REFERER},
    request::Parts,
    uri::Authority,
};
use url::Url;

use super::cookies::{is_wanted, keep_wanted};

/// The page on which a script asks for a part.
const HX_CURRENT_URL: &str = "hx-current-url";
/// By it, parts of pages are asked for.
const HX_REQUEST: &str = "hx-request";
const SEC_FETCH_MODE: &str = "sec-fetch-mode";
const SEC_FETCH_DEST: &str = "sec-fetch-dest";

/// The header that keeps the address to open after signing in, for a request without a session to the server with this
/// address. None where the request does not say what page a person is to see.
pub fn remember_wanted(head: &Parts, own_url: &str, is_secure: bool) -> Option<HeaderValue> {
    wanted(head, own_url).map(|address| keep_wanted(&address, is_secure))
}

fn wanted(head: &Parts, own_url: &str) -> Option<String> {
    let address = if head.headers.contains_key(HX_REQUEST) {
        own_page(head, HX_CURRENT_URL, own_url)
    } else if !is_navigation(&head.headers) {
        None
    } else if head.method == Method::GET {
        head.uri.path_and_query().map(ToString::to_string)
    } else {
        // What a form changes is no page: the one that has the form is.
        own_page(head, REFERER.as_str(), own_url)
    };
    address.filter(|address| is_wanted(address))
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether a person opens a page, not a script or a page its files, frames and streams.
fn is_navigation(headers: &HeaderMap) -> bool {
    let takes_pages = || text(headers, ACCEPT.as_str()).is_some_and(|it| it.contains("text/html"));
    let is_in_frame = text(headers, SEC_FETCH_DEST).is_some_and(|it| it != "document");
    !is_in_frame && text(headers, SEC_FETCH_MODE).map_or_else(takes_pages, |it| it == "navigate")
}

/// The page that a header names, if it is this server's. Of its address only what follows the host is kept.
fn own_page(head: &Parts, header: &str, own_url: &str) -> Option<String> {
    let page = Url::parse(text(&head.headers, header)?).ok()?;
    let own = Url::parse(own_url).ok()?;
    let asked = text(&head.headers, HOST.as_str());
    let asked = asked.or_else(|| head.uri.authority().map(Authority::as_str));
    let is_own = asked == Some(page.authority()) || page.authority() == own.authority();
    if !is_own || !matches!(page.scheme(), "http" | "https") {
        return None;
    }
    let path = page.path();
    Some(page.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}")))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, Request};

    use super::*;

    const OWN: &str = "https://console.example.test";

    fn of(method: Method, lines: &[(&str, &str)]) -> Option<String> {
        let mut request = Request::new(());
        *request.method_mut() = method;
        *request.uri_mut() = "/console/people?query=ann".parse().unwrap();
        for (name, value) in lines {
            let name = HeaderName::try_from(*name).unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        wanted(&request.into_parts().0, OWN)
    }

    #[test]
    fn a_page_that_a_person_opens_is_wanted_and_nothing_else() {
        let html = "text/html,application/xhtml+xml;q=0.9";
        let table: [(&[(&str, &str)], bool); 8] = [
            (&[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")], true),
            (&[("sec-fetch-mode", "navigate")], true),
            (&[("accept", html)], true),
            (&[], false),
            (&[("accept", "*/*")], false),
            (&[("accept", "text/event-stream"), ("sec-fetch-mode", "cors")], false),
            (&[("accept", html), ("sec-fetch-mode", "cors")], false),
            (&[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")], false),
        ];
        for (lines, expected) in table {
            let found = of(Method::GET, lines);
            assert_eq!(
                found.as_deref(),
                expected.then_some("/console/people?query=ann"),
                "{lines:?}"
            );
            assert_eq!(of(Method::POST, lines), None, "{lines:?}");
        }
    }

    #[test]
    fn of_a_part_its_page_is_wanted_if_it_is_this_server_s() {
        for (page, expected) in [
            ("https://console.example.test/console?range=7#x", Some("/console?range=7")),
            ("http://127.0.0.1:8080/console/live", Some("/console/live")),
            ("https://evil.test/console/live", None),
            ("https://127.0.0.1:8080@evil.test/console/live", None),
            ("https://console.example.test/console/logout", None),
            ("https://console.example.test//evil.test/console", None),
            ("https://console.example.test/docs", None),
            ("javascript:alert(1)", None),
            ("/console/live", None),
            ("", None),
        ] {
            let lines =
                [("hx-request", "true"), ("hx-current-url", page), ("host", "127.0.0.1:8080")];
            for method in [Method::GET, Method::POST] {
                assert_eq!(of(method, &lines).as_deref(), expected, "{page}");
            }
        }
        let navigation = [("hx-request", "true"), ("sec-fetch-mode", "navigate")];
        assert_eq!(of(Method::GET, &navigation), None, "a part is no page");
    }

    #[test]
    fn of_a_form_its_page_is_wanted_if_it_is_this_server_s() {
        for (page, expected) in [
            (
                "https://console.example.test/console/lists/new?x=1#y",
                Some("/console/lists/new?x=1"),
            ),
            ("http://127.0.0.1:8080/console/segments", Some("/console/segments")),
            ("https://evil.test/console/live", None),
            ("https://console.example.test/console/login?token=x", None),
            ("", None),
        ] {
            let lines =
                [("sec-fetch-mode", "navigate"), ("referer", page), ("host", "127.0.0.1:8080")];
            assert_eq!(of(Method::POST, &lines).as_deref(), expected, "{page}");
            let opened = of(Method::GET, &lines);
            assert_eq!(opened.as_deref(), Some("/console/people?query=ann"), "{page}");
            let fetched = [("sec-fetch-mode", "cors"), lines[1], lines[2]];
            assert_eq!(of(Method::POST, &fetched), None, "{page}");
        }
    }
}

//! `[telemetry]`: where traces go.

use http::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;

/// Traces of requests and of work.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    /// Base URL of an OpenTelemetry collector that takes OTLP over HTTP; unset: no traces.
    #[serde(default, deserialize_with = "super::url_as_text")]
    pub otlp_endpoint: Option<Url>,
    /// Headers of each call, as `name=value,name=value`.
    #[serde(default)]
    pub otlp_headers: Option<SecretString>,
    /// The share of requests and pieces of work that are traced, from 0 to 1.
    pub traces_ratio: f64,
}

impl Telemetry {
    /// The headers of each call.
    ///
    /// # Errors
    /// Why they are no headers, without their values.
    pub fn headers(&self) -> Result<Vec<(String, SecretString)>, String> {
        let text = self.otlp_headers.as_ref().map_or("", |it| it.expose_secret());
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| {
                let (name, value) =
                    pair.split_once('=').ok_or("must be name=value, separated by commas")?;
                let (name, value) = (name.trim(), value.trim());
                if HeaderName::from_bytes(name.as_bytes()).is_err() {
                    return Err("has a name that is no header's".to_owned());
                }
                if HeaderValue::from_str(value).is_err() {
                    return Err(format!("has a value that no header may have: of {name}"));
                }
                Ok((name.to_owned(), SecretString::from(value)))
            })
            .collect()
    }

    /// The first invalid value: the key and the reason.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        let is_http = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        if self.otlp_endpoint.as_ref().is_some_and(|url| !is_http(url)) {
            return Some((
                "telemetry.otlp_endpoint",
                "must start with http:// or https://".to_owned(),
            ));
        }
        if !(0.0..=1.0).contains(&self.traces_ratio) {
            return Some(("telemetry.traces_ratio", "must be from 0 to 1".to_owned()));
        }
        self.headers().err().map(|reason| ("telemetry.otlp_headers", reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn telemetry(endpoint: Option<&str>, headers: &str, ratio: f64) -> Telemetry {
        Telemetry {
            otlp_endpoint: endpoint.map(|url| url.parse().unwrap()),
            otlp_headers: Some(headers.into()),
            traces_ratio: ratio,
        }
    }

    #[test]
    fn each_setting_has_its_rule() {
        let collector = Some("http://collector:4318");
        for (endpoint, headers, ratio, fault) in [
            (None, "", 0.0, None),
            (collector, "authorization=Bearer a=b, x-team = shop", 1.0, None),
            (Some("ftp://collector"), "", 0.01, Some("telemetry.otlp_endpoint")),
            (Some("unix:/run/collector"), "", 0.01, Some("telemetry.otlp_endpoint")),
            (collector, "", -0.1, Some("telemetry.traces_ratio")),
            (collector, "", 1.1, Some("telemetry.traces_ratio")),
            (collector, "", f64::NAN, Some("telemetry.traces_ratio")),
            (collector, "authorization", 0.5, Some("telemetry.otlp_headers")),
            (collector, "a b=c", 0.5, Some("telemetry.otlp_headers")),
            (collector, "a=b\nc", 0.5, Some("telemetry.otlp_headers")),
        ] {
            let found = telemetry(endpoint, headers, ratio).fault();
            assert_eq!(found.map(|(key, _)| key), fault, "{endpoint:?} {headers:?} {ratio}");
        }
    }

    #[test]
    fn headers_are_read_as_written() {
        let read = telemetry(None, "authorization=Bearer a=b, x-team = shop,", 0.0).headers();
        let read: Vec<_> = read
            .unwrap()
            .into_iter()
            .map(|(name, value)| (name, value.expose_secret().to_owned()))
            .collect();
        let expected = [("authorization", "Bearer a=b"), ("x-team", "shop")];
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}

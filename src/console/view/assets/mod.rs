//! Files that pages load: built into the program, under addresses with the hash of their content.

use std::{collections::BTreeMap, io::Write as _, sync::LazyLock};

use axum::{
    Router,
    body::Body,
    extract::{Path, Request},
    response::{IntoResponse as _, Response},
    routing::get,
};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{
        ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY,
        X_CONTENT_TYPE_OPTIONS,
    },
};
use sha2::{Digest as _, Sha256};

/// Bytes of a hash in an address.
const HASH_BYTES: usize = 8;
/// By this, a file names another one; the address is put in its stead.
const REFERENCE: &str = "asset:";
/// A file that changes has another address.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// A file as it is in the source.
struct Source {
    name: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

/// The files. One may name those before it.
const SOURCES: &[Source] = &[
    Source { name: "icon.svg", content_type: SVG, bytes: include_bytes!("files/icon.svg") },
    Source { name: "console.css", content_type: CSS, bytes: include_bytes!("files/console.css") },
    Source { name: "uplot.css", content_type: CSS, bytes: include_bytes!("files/uplot.min.css") },
    Source { name: "htmx.js", content_type: JS, bytes: include_bytes!("files/htmx.min.js") },
    Source { name: "uplot.js", content_type: JS, bytes: include_bytes!("files/uplot.esm.js") },
    Source { name: "kept.js", content_type: JS, bytes: include_bytes!("files/kept.js") },
    Source { name: "console.js", content_type: JS, bytes: include_bytes!("files/console.js") },
    Source { name: "import.js", content_type: JS, bytes: include_bytes!("files/import.js") },
    Source { name: "live.js", content_type: JS, bytes: include_bytes!("files/live.js") },
    Source {
        name: "codemirror.css",
        content_type: CSS,
        bytes: include_bytes!("files/codemirror.css"),
    },
    Source {
        name: "codemirror.js",
        content_type: JS,
        bytes: include_bytes!("files/codemirror.js"),
    },
    Source { name: "editor.js", content_type: JS, bytes: include_bytes!("files/editor.js") },
    Source { name: "chart.js", content_type: JS, bytes: include_bytes!("files/chart.js") },
];
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// A file as it is answered.
#[derive(Debug)]
struct Asset {
    url: String,
    content_type: &'static str,
    bytes: Bytes,
    gzipped: Bytes,
}

/// The files by their names.
static ASSETS: LazyLock<BTreeMap<&'static str, Asset>> = LazyLock::new(|| {
    let mut assets: BTreeMap<&'static str, Asset> = BTreeMap::new();
    for source in SOURCES {
        let bytes = with_references(source, &assets);
        let hash = hex::encode(&Sha256::digest(&bytes)[..HASH_BYTES]);
        let (stem, extension) = source.name.rsplit_once('.').unwrap_or((source.name, ""));
        let asset = Asset {
            url: format!("/console/assets/{stem}.{hash}.{extension}"),
            content_type: source.content_type,
            gzipped: gzipped(&bytes).into(),
            bytes: bytes.into(),
        };
        assets.insert(source.name, asset);
    }
    assets
});

fn with_references(source: &Source, before: &BTreeMap<&'static str, Asset>) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(source.bytes) else { return source.bytes.to_vec() };
    let replace = |text: String, (name, asset): (&&'static str, &Asset)| {
        text.replace(&format!("{REFERENCE}{name}"), &asset.url)
    };
    before.iter().fold(text.to_owned(), replace).into_bytes()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes every byte")
}

/// The address of a file.
pub fn url(name: &str) -> &'static str {
    ASSETS.get(name).map_or("", |asset| asset.url.as_str())
}

pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/console/assets/{file}", get(file))
}

async fn file(Path(file): Path<String>, request: Request) -> Response {
    let path = format!("/console/assets/{file}");
    let Some(asset) = ASSETS.values().find(|asset| asset.url == path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let accepted = request.headers().get(ACCEPT_ENCODING).and_then(|it| it.to_str().ok());
    let takes_gzip = accepted.is_some_and(|it| it.split(',').any(|it| it.trim() == "gzip"));
    let bytes = if takes_gzip { &asset.gzipped } else { &asset.bytes };
    let mut response = Response::new(Body::from(bytes.clone()));
    let mut insert = |name: HeaderName, value: &'static str| {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    };
    insert(CONTENT_TYPE, asset.content_type);
    insert(CACHE_CONTROL, FOREVER);
    insert(VARY, "accept-encoding");
    insert(X_CONTENT_TYPE_OPTIONS, "nosniff");
    if takes_gzip {
        insert(CONTENT_ENCODING, "gzip");
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_is_resolved() {
        for source in SOURCES {
            let asset = &ASSETS[source.name];
            let text = std::str::from_utf8(&asset.bytes).unwrap();
            assert!(!text.contains(REFERENCE), "{} names a file that is not there", source.name);
            assert!(!asset.gzipped.is_empty());
        }
        assert!(url("console.css").starts_with("/console/assets/console."));
    }
}

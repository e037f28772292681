//! The API's description and the page to read it, without a network.

use serde_json::json;

use super::kit::start;

#[tokio::test]
async fn the_description_names_the_mounted_routes() {
    let server = start().await;
    let answer = server.get("/openapi.json").await;
    assert_eq!(answer.headers["content-type"], "application/json");
    let document = answer.json();
    let mut paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    paths.sort();
    assert_eq!(paths, ["/guarded", "/livez", "/metered", "/readyz", "/things"]);
    assert_eq!(document["info"]["title"], "Millrace");
    assert_eq!(document["paths"]["/things"]["post"]["security"], json!([{"bearer": []}]));
}

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere() {
    let server = start().await;
    let page = server.get("/docs").await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("swagger-ui"), "{}", page.text);
    let mut parts = 0;
    for marker in ["src=\"", "href=\""] {
        for part in page.text.split(marker).skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(!name.contains("//"), "{name} is loaded from elsewhere");
            let asset = server.get(&format!("/docs/{}", name.trim_start_matches("./"))).await;
            assert_eq!(asset.status, 200, "{name}");
            assert!(!asset.text.is_empty(), "{name}");
            parts += 1;
        }
    }
    assert!(parts >= 4, "{}", page.text);
    let script = server.get("/docs/swagger-initializer.js").await.text;
    assert!(script.contains("/openapi.json"), "{script}");
    assert!(script.contains(r#""validatorUrl": "none""#), "{script}");
    assert!(!script.contains("http://") && !script.contains("https://"), "{script}");
}

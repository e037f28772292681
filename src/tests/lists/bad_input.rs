//! Every field of a list at its limit, one past it, and of every wrong type.

use serde_json::{Value, json};

use super::lifecycle::{create, put};
use crate::kit::Workspace;

#[tokio::test]
async fn lengths_are_accepted_at_the_limit_and_refused_beyond() {
    let workspace = Workspace::new().await;
    let longest = json!({"name": "ä".repeat(255), "description": "ö".repeat(1000)});
    let list = create(&workspace, longest).await;
    let path = format!("/lists/{}", list["id"].as_str().unwrap());
    for (body, error) in [
        (json!({"name": "a".repeat(256)}), "name must be at most 255 characters"),
        (json!({"name": ""}), "name must not be empty"),
        (json!({"name": " \t "}), "name must not be empty"),
        (
            json!({"name": "a", "description": "a".repeat(1001)}),
            "description must be at most 1000 characters",
        ),
        (json!({"name": "a", "channels": []}), "channels must not be empty"),
        (
            json!({"name": "a", "channels": vec!["email"; 101]}),
            "channels must have at most 100 elements, received 101",
        ),
        (
            json!({"name": "a", "channels": ["email", "in_app"]}),
            "channels[1] must be one of: email, sms, whatsapp, push, viber",
        ),
        (json!({"name": "a", "type": "other"}), "type must be one of: marketing, transactional"),
        (json!({"name": "a\0b"}), "name must not contain NUL characters"),
    ] {
        let refused = workspace.api.post("/lists", &body, 400).await;
        assert_eq!(refused.errors(), [error], "{body}");
        assert_eq!(
            put(&workspace.api, &path, &body, 400).await["errors"],
            json!([error]),
            "{body}"
        );
    }
    // The space around a name does not count.
    let padded = json!({"name": format!(" {} ", "b".repeat(255)), "channels": vec!["email"; 100]});
    assert_eq!(create(&workspace, padded).await["channels"], json!(["email"]));
    // Nothing of a refused change is applied.
    assert_eq!(workspace.api.get(&path, 200).await.json(), list);
}

#[tokio::test]
async fn every_field_of_every_wrong_type_is_named_once_and_in_order() {
    let workspace = Workspace::new().await;
    let list = create(&workspace, json!({"name": "News"})).await;
    let path = format!("/lists/{}", list["id"].as_str().unwrap());
    let fields = ["name", "description", "channels", "isPublic", "type", "requireDoubleOptIn"];
    for wrong in [json!(7), json!(1e308), json!({"a": 1}), json!([[1]])] {
        let body: Value = fields.iter().map(|field| ((*field).to_owned(), wrong.clone())).collect();
        let errors = workspace.api.post("/lists", &body, 400).await.errors();
        let named: Vec<&str> =
            errors.iter().map(|error| error.split([' ', '[']).next().unwrap()).collect();
        assert_eq!(named, fields, "{wrong}: {errors:?}");
        put(&workspace.api, &path, &body, 400).await;
    }
    for (field, wrong) in [
        ("name", json!(true)),
        ("description", json!(["text"])),
        ("channels", json!("email")),
        ("isPublic", json!("true")),
        ("type", json!(false)),
        ("requireDoubleOptIn", json!(0)),
    ] {
        let mut body = json!({"name": "a"});
        body[field] = wrong;
        let errors = workspace.api.post("/lists", &body, 400).await.errors();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].starts_with(field), "{errors:?}");
    }
    assert_eq!(workspace.api.post("/lists", &json!({}), 400).await.errors(), ["name is required"]);
    assert_eq!(
        workspace.api.post("/lists", &json!({"name": null}), 400).await.errors(),
        ["name is required"]
    );
}

#[tokio::test]
async fn bodies_that_are_no_object_are_refused() {
    let workspace = Workspace::new().await;
    for body in ["", "[]", "7", "nonsense", "{\"name\":\"\\ud800\"}", &"[".repeat(10_000)] {
        workspace.api.post_bytes("/lists", body, 400).await;
    }
}

#[tokio::test]
async fn invalid_ids_match_no_list_and_flags_are_true_or_false() {
    let workspace = Workspace::new().await;
    for id in
        ["nonsense", "0123456789abcdef01234567", "00000000-0000-0000-0000-000000000000", "%00"]
    {
        workspace.api.get(format!("/lists/{id}"), 404).await;
        workspace.api.get(format!("/lists/{id}/stats"), 404).await;
        put(&workspace.api, &format!("/lists/{id}"), &json!({"name": "a"}), 404).await;
    }
    let errors = workspace.api.get("/lists?includeArchived=maybe", 400).await.errors();
    assert_eq!(errors, ["includeArchived must be true or false"]);
}

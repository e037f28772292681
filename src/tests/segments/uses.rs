//! Segments that use segments: nested, without cycles, within limits, and kept while in use.

use serde_json::{Value, json};

use super::{
    all, create, delete, id, in_segment, members, path, person, plan, previewed, put, set,
};
use crate::kit::Workspace;

async fn change(workspace: &Workspace, segment: &Value, targeting: &Value, status: u16) -> Value {
    put(&workspace.api, &path(segment), &json!({"targeting": targeting}), status).await
}

#[tokio::test]
async fn nested_segments_mean_what_their_targetings_mean_now() {
    let workspace = Workspace::new().await;
    for (name, tier, country) in
        [("ann", "pro", "de"), ("bob", "pro", "fr"), ("cy", "free", "de"), ("dee", "free", "fr")]
    {
        person(&workspace, name, json!({"plan": tier, "country": country})).await;
    }
    let german =
        json!({"type": "attribute", "field": "country", "operator": "equals", "value": "de"});
    let paying = create(&workspace, "Paying", &all(&[plan("pro")])).await;
    let local = all(&[in_segment(&paying, "member"), german.clone()]);
    let local = create(&workspace, "Local", &local).await;
    let rest = create(&workspace, "Rest", &all(&[in_segment(&local, "not_member")])).await;
    let either = json!({
        "filterGroups": [
            {"filters": [in_segment(&paying, "member"), german], "operator": "OR"},
            {"filters": [{"type": "segment", "field": "segmentId", "value": id(&rest), "operator": "member"}]},
        ],
        "filterOperator": "AND",
        "excludeFilterGroups": [{"filters": [in_segment(&local, "member")]}],
    });
    let either = create(&workspace, "Either", &either).await;
    let named = json!({"userIds": ["ann", "cy", "unknown"], "filterGroups": []});
    let named = create(&workspace, "Named", &named).await;
    let both = create(
        &workspace,
        "Both",
        &all(&[in_segment(&named, "not_member"), in_segment(&paying, "not_member")]),
    )
    .await;

    let expect = async |expected: [(&Value, Vec<&str>); 6]| {
        for (segment, names) in expected {
            let names = names.into_iter().map(str::to_owned).collect();
            assert_eq!(members(&workspace, segment).await, names, "{segment}");
            let member = all(&[in_segment(segment, "member")]);
            assert_eq!(previewed(&workspace, &member).await, names, "{segment}");
        }
    };
    expect([
        (&paying, vec!["ann", "bob"]),
        (&local, vec!["ann"]),
        (&rest, vec!["bob", "cy", "dee"]),
        (&either, vec!["bob", "cy"]),
        (&named, vec!["ann", "cy"]),
        (&both, vec!["dee"]),
    ])
    .await;
    change(&workspace, &paying, &all(&[plan("free")]), 200).await;
    expect([
        (&paying, vec!["cy", "dee"]),
        (&local, vec!["cy"]),
        (&rest, vec!["ann", "bob", "dee"]),
        (&either, vec!["ann", "dee"]),
        (&named, vec!["ann", "cy"]),
        (&both, vec!["bob"]),
    ])
    .await;
}

#[tokio::test]
async fn no_segment_uses_itself() {
    let workspace = Workspace::new().await;
    let a = create(&workspace, "A", &json!({})).await;
    let b = create(&workspace, "B", &all(&[in_segment(&a, "member")])).await;
    let c = create(&workspace, "C", &all(&[in_segment(&b, "not_member")])).await;
    let excluding = json!({"excludeFilterGroups": [{"filters": [in_segment(&c, "member")]}]});
    for (segment, targeting, way) in [
        (&a, all(&[in_segment(&a, "member")]), "\"A\" uses \"A\""),
        (&a, all(&[plan("pro"), in_segment(&b, "member")]), "\"A\" uses \"B\" uses \"A\""),
        (&a, excluding, "\"A\" uses \"C\" uses \"B\" uses \"A\""),
        (&b, all(&[in_segment(&c, "member")]), "\"B\" uses \"C\" uses \"B\""),
    ] {
        let refused = change(&workspace, segment, &targeting, 400).await;
        let error = format!("targeting must not make a segment use itself: {way}");
        assert_eq!(refused["errors"], json!([error]));
        let now = workspace.api.get(path(segment), 200).await.json();
        assert_eq!(
            (&now["targeting"], &now["updatedAt"]),
            (&segment["targeting"], &segment["updatedAt"])
        );
    }
    // Once it is not used any more it may use others.
    change(&workspace, &b, &json!({}), 200).await;
    change(&workspace, &a, &all(&[in_segment(&c, "member")]), 200).await;
}

#[tokio::test]
async fn segments_have_five_levels_at_most() {
    let workspace = Workspace::new().await;
    person(&workspace, "ann", json!({"plan": "pro"})).await;
    let mut chain = vec![create(&workspace, "L1", &all(&[plan("pro")])).await];
    for level in 2..=5 {
        let targeting = all(&[in_segment(&chain[level - 2], "member")]);
        chain.push(create(&workspace, &format!("L{level}"), &targeting).await);
    }
    assert_eq!(members(&workspace, &chain[4]).await, set(["ann"]));
    let deeper = json!({"name": "L6", "targeting": all(&[in_segment(&chain[4], "member")])});
    let refused = workspace.api.post("/segments", &deeper, 400).await.errors();
    assert_eq!(
        refused,
        [
            "targeting must have, with those of the segments it uses, at most 5 levels of segments, received 6"
        ]
    );
    // A change at the bottom counts for those above.
    let bottom = create(&workspace, "L0", &json!({})).await;
    let refused = change(&workspace, &chain[0], &all(&[in_segment(&bottom, "member")]), 400).await;
    assert_eq!(
        refused["errors"],
        json!([
            "targeting is used by \"L5\", which must have, with the segments it uses, at most 5 levels of segments, received 6"
        ])
    );
    // A campaign is no level.
    let member = all(&[in_segment(&chain[4], "member")]);
    assert_eq!(previewed(&workspace, &member).await, set(["ann"]));
}

#[tokio::test]
async fn a_segment_with_those_it_uses_keeps_to_the_limits_of_one_targeting() {
    let workspace = Workspace::new().await;
    let many = |count: usize| -> Value {
        let filters: Vec<Value> = (0..count).map(|n| plan(&n.to_string())).collect();
        let groups: Vec<Value> = filters.chunks(50).map(|some| json!({"filters": some})).collect();
        json!({"filterGroups": groups})
    };
    let used = create(&workspace, "Used", &many(49)).await;
    let twice = all(&[in_segment(&used, "member"), in_segment(&used, "not_member")]);
    let user = create(&workspace, "User", &twice).await;
    assert_eq!(user["count"], 0);
    let refused = change(&workspace, &used, &many(50), 400).await;
    assert_eq!(
        refused["errors"],
        json!([
            "targeting is used by \"User\", which must have, with the segments it uses, at most 100 filters, received 102"
        ])
    );
    let once = json!({"name": "More", "targeting": all(&[in_segment(&user, "member")])});
    let refused = workspace.api.post("/segments", &once, 400).await.errors();
    assert_eq!(
        refused,
        [
            "targeting must have, with those of the segments it uses, at most 100 filters, received 101"
        ]
    );
    let events = |count: usize| -> Value {
        let filters: Vec<Value> = (0..count)
            .map(|n| json!({"type": "event", "field": format!("E{n}"), "operator": "performed"}))
            .collect();
        all(&filters)
    };
    let five = create(&workspace, "Five", &events(5)).await;
    let ten = all(&[in_segment(&five, "member"), in_segment(&five, "not_member")]);
    let ten = create(&workspace, "Ten", &ten).await;
    assert_eq!(ten["count"], 0);
    let refused = change(&workspace, &five, &events(6), 400).await;
    assert!(
        refused["errors"][0]
            .as_str()
            .unwrap()
            .ends_with("at most 10 filters of type event or engagement, received 12"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_targeting_uses_ten_segments_at_most() {
    let workspace = Workspace::new().await;
    person(&workspace, "ann", json!({})).await;
    let everyone = create(&workspace, "Everyone", &json!({})).await;
    let uses = |count: usize| all(&vec![in_segment(&everyone, "member"); count]);
    assert_eq!(create(&workspace, "Ten", &uses(10)).await["count"], 1);
    assert_eq!(previewed(&workspace, &uses(10)).await, set(["ann"]));
    let problem = "targeting must have at most 10 filters of type segment, received 11";
    let body = json!({"name": "Eleven", "targeting": uses(11)});
    assert_eq!(workspace.api.post("/segments", &body, 400).await.errors(), [problem]);
    let body = json!({"targeting": uses(11)});
    assert_eq!(workspace.api.post("/campaigns/preview", &body, 400).await.errors(), [problem]);
    // Filters on segments that do not exist cost nothing.
    let unknown = json!({"type": "segment", "field": "vips", "operator": "member"});
    assert_eq!(previewed(&workspace, &all(&vec![unknown; 11])).await, set([]));
}

#[tokio::test]
async fn a_segment_in_use_by_segments_is_kept_and_its_users_are_named() {
    let workspace = Workspace::new().await;
    let used = create(&workspace, "Used", &json!({})).await;
    let mut users = Vec::new();
    for n in 1..=12 {
        let targeting = all(&[in_segment(&used, "member")]);
        users.push(create(&workspace, &format!("User {n:02}"), &targeting).await);
    }
    let refused = delete(&workspace.api, &path(&used), 409).await;
    let named: Vec<String> = (1..=10).map(|n| format!("\"User {n:02}\"")).collect();
    assert_eq!(
        refused["message"],
        format!("The segment is in use by the segments {} and 2 more", named.join(", "))
    );
    for user in &users[1..] {
        delete(&workspace.api, &path(user), 204).await;
    }
    let refused = delete(&workspace.api, &path(&used), 409).await;
    assert_eq!(refused["message"], "The segment is in use by the segment \"User 01\"");
    change(&workspace, &users[0], &json!({}), 200).await;
    delete(&workspace.api, &path(&used), 204).await;
}

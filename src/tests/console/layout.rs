//! How pages stand in a browser: what fields have after Back, and what long names and narrow screens do.

use serde_json::json;

use super::{
    explore::{self, RANGE},
    kit::link,
};
use crate::kit::{BrowserTab, server};

#[tokio::test]
async fn after_back_the_fields_are_those_of_the_question_that_is_answered() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => return eprintln!("SKIPPED after_back: {reason}"),
    };
    let workspace = explore::with_events().await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    let address = format!("{}/console/explore?tab=trends&event=Bought&metric=count&{RANGE}", server().url);
    tab.go(&address).await;
    let change = "document.getElementById('metric').value = 'unique'; \
                  document.getElementById('breakdown').value = 'country'; null";
    tab.value(change).await;
    tab.click("form.card[method=get] [type=submit]").await;
    tab.until("location.search.includes('metric=unique') && document.readyState === 'complete'").await;
    let fields = "['metric', 'breakdown'].map((id) => document.getElementById(id).value)";
    assert_eq!(tab.value(fields).await, json!(["unique", "country"]));
    tab.value("history.back(); null").await;
    let is_back = "location.search.includes('metric=count') && document.readyState === 'complete'";
    tab.until(&format!("{is_back} && {fields}.join() === 'count,'")).await;
    assert_eq!(tab.errors(), [""; 0]);
}

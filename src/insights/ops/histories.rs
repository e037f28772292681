//! Follows people through what they did, as ClickHouse answers it.

use std::sync::Arc;

use analytics::insights::{self, HistoriesAsked, NextHistories};
use kernel::{Error, Result, WorkspaceId};

use super::Turn;
use crate::model::{PEOPLE_MAX, follow::Follow};

/// Shows a rule the histories of a question, all events of a person at a time. The rule runs on a thread of its own while
/// the next people arrive.
///
/// # Errors
/// Bad request when too many people begin; unavailable when ClickHouse is.
pub(super) async fn follow<F: Follow>(
    turn: &Turn,
    workspace: WorkspaceId,
    asked: &HistoriesAsked,
    mut rule: F,
) -> Result<F> {
    let mut stream = insights::histories(&turn.analytics, workspace.uuid(), asked).await?;
    let mut next = stream.next().await?;
    loop {
        let people = match next {
            NextHistories::People(people) => people,
            NextHistories::Again => {
                rule.clear();
                next = stream.next().await?;
                continue;
            }
            NextHistories::End => return Ok(rule),
        };
        let permit = Arc::clone(&turn.permit);
        let running = tokio::task::spawn_blocking(move || {
            people.each(|history| rule.add(history));
            drop(permit);
            rule
        });
        next = stream.next().await?;
        rule = running.await.map_err(Error::internal)?;
        refuse_many(rule.people())?;
    }
}

/// Refuses a question about more people than are followed.
fn refuse_many(people: u64) -> Result<()> {
    if people <= PEOPLE_MAX {
        return Ok(());
    }
    Err(Error::bad_request(format!(
        "more than {PEOPLE_MAX} people begin in this range: ask for a shorter range, fewer people or rarer events"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_people_are_followed_as_may_be_and_no_more() {
        assert!(refuse_many(PEOPLE_MAX).is_ok());
        assert!(matches!(refuse_many(PEOPLE_MAX + 1), Err(Error::BadRequest { .. })));
    }
}

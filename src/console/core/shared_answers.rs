//! Answers of questions that take long, shared by the people who ask the same at nearly the same time.
//!
//! Ten people who look at one page ask for the same numbers. Asked once, they leave the processor to the acknowledgement of
//! events. A change that a person makes in the console is seen by every later question of the same workspace.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::Method;
use kernel::{Tenant, WorkspaceId};
use moka::{Expiry, future::Cache};
use web::auth::{ScopeSet, SignedIn};

use crate::failure::PageResult;

/// How long an answer is given again where its question says nothing else.
pub(crate) const KEPT: Duration = Duration::from_secs(1);
/// Bytes of all answers that are kept, with their questions.
const BYTES_MAX: u64 = 16 << 20;
/// Bytes of an answer besides its texts, more or less.
const ENTRY_BYTES: usize = 512;
/// How long after a change was given up its last statement may still take effect: a commit that was sent cannot be taken back.
const SETTLING: Duration = Duration::from_secs(1);

/// What is asked, and all that its answer depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    /// Which router is asked.
    pub(crate) router: &'static str,
    pub(crate) method: Method,
    /// The path and the query.
    pub(crate) address: String,
    pub(crate) body: Bytes,
    /// How long it may take.
    pub(crate) wait_max: Duration,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    tenant: Tenant,
    scopes: ScopeSet,
    /// Changes that were made in the workspace before.
    changes: u64,
    question: Question,
}

/// What was answered, and how long it is given again.
#[derive(Debug, Clone)]
struct Answer {
    bytes: Bytes,
    kept: Duration,
}

/// Each answer is kept for a time of its own.
struct KeptByAnswer;

impl Expiry<Key, Answer> for KeptByAnswer {
    fn expire_after_create(&self, _: &Key, answer: &Answer, _: Instant) -> Option<Duration> {
        Some(answer.kept)
    }
}

/// The answers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SharedAnswers {
    answers: Cache<Key, Answer>,
    changes: Arc<Mutex<HashMap<WorkspaceId, Changes>>>,
}

/// The changes that were made in one workspace.
#[derive(Debug, Clone, Copy, Default)]
struct Changes {
    count: u64,
    /// Until when a change that was given up may still take effect.
    unsettled_until: Option<Instant>,
}

impl Changes {
    /// How many were made before `now`. Each question gets a number of its own while a change may still take effect, and so
    /// does the first after that: the answer of the last before may be older than the change.
    fn before(&mut self, now: Instant) -> u64 {
        if let Some(until) = self.unsettled_until {
            self.count += 1;
            if until <= now {
                self.unsettled_until = None;
            }
        }
        self.count
    }
}

/// A change that is being made. Answers of before are forgotten once it ends, or is dropped before that.
#[derive(Debug)]
#[must_use]
pub(crate) struct ChangeInProgress<'a> {
    answers: &'a SharedAnswers,
    workspace: WorkspaceId,
    has_ended: bool,
}

impl ChangeInProgress<'_> {
    /// The change was made or refused.
    pub(crate) fn end(mut self) {
        self.has_ended = true;
    }
}

impl Drop for ChangeInProgress<'_> {
    fn drop(&mut self) {
        let mut all = self.answers.all_changes();
        let changes = all.entry(self.workspace).or_default();
        changes.count += 1;
        if !self.has_ended {
            changes.unsettled_until = Some(Instant::now() + SETTLING);
        }
    }
}

impl Default for SharedAnswers {
    fn default() -> Self {
        let bytes = |key: &Key, it: &Answer| {
            let asked = key.question.address.len() + key.question.body.len();
            u32::try_from(ENTRY_BYTES + asked + it.bytes.len()).unwrap_or(u32::MAX)
        };
        let answers = Cache::builder()
            .max_capacity(BYTES_MAX)
            .weigher(bytes)
            .expire_after(KeptByAnswer)
            .build();
        Self { answers, changes: Arc::default() }
    }
}

impl SharedAnswers {
    /// The answer to a question, asked unless it is being asked for the same workspace and scopes or was answered within `kept`.
    ///
    /// # Errors
    /// Those of `ask`, for all who wait for it; they are not kept.
    pub(crate) async fn get(
        &self,
        person: &SignedIn,
        question: Question,
        kept: Duration,
        ask: impl Future<Output = PageResult<Bytes>>,
    ) -> PageResult<Bytes> {
        let changes = self.changes(person.tenant.workspace, Instant::now());
        let key = Key { tenant: person.tenant, scopes: person.scopes, changes, question };
        let ask = async { ask.await.map(|bytes| Answer { bytes, kept }) };
        let answer = self.answers.try_get_with(key, ask).await;
        answer.map(|answer| answer.bytes).map_err(|failure| (*failure).clone())
    }

    /// Begins a change in a workspace; what it returns is kept until that ends.
    pub(crate) const fn change(&self, workspace: WorkspaceId) -> ChangeInProgress<'_> {
        ChangeInProgress { answers: self, workspace, has_ended: false }
    }

    /// How many changes a question of this workspace comes after; a number of its own while one may still take effect.
    pub(crate) fn changes(&self, workspace: WorkspaceId, now: Instant) -> u64 {
        let mut all = self.all_changes();
        all.get_mut(&workspace).map_or(0, |changes| changes.before(now))
    }

    fn all_changes(&self) -> MutexGuard<'_, HashMap<WorkspaceId, Changes>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{Ready, ready},
        sync::atomic::{AtomicU64, Ordering},
    };

    use http::StatusCode;
    use tokio::sync::Semaphore;
    use uuid::Uuid;

    use super::*;
    use crate::{failure::Failure, in_process::tests::person};

    const LONG: Duration = Duration::from_hours(1);
    const WORKSPACE: WorkspaceId = WorkspaceId::new(Uuid::from_u128(4));
    const ANOTHER: WorkspaceId = WorkspaceId::new(Uuid::from_u128(5));

    fn question(address: &str) -> Question {
        Question {
            router: "api",
            method: Method::GET,
            address: address.to_owned(),
            body: Bytes::new(),
            wait_max: Duration::from_secs(15),
        }
    }

    /// Answers that count how often they were asked for.
    #[derive(Default)]
    struct Asked(AtomicU64);

    impl Asked {
        fn answer(&self) -> Ready<PageResult<Bytes>> {
            let asked = self.0.fetch_add(1, Ordering::Relaxed) + 1;
            ready(Ok(asked.to_string().into()))
        }
    }

    #[tokio::test]
    async fn people_of_one_workspace_share_an_answer_while_it_is_made() {
        let (answers, asked, may_answer) =
            (SharedAnswers::default(), Asked::default(), Semaphore::new(0));
        let person = person("*");
        let ask = || async {
            may_answer.acquire().await.unwrap().forget();
            asked.answer().await
        };
        let several = futures_util::future::join_all(
            (0..10).map(|_| answers.get(&person, question("/segments/1"), KEPT, ask())),
        );
        let (found, ()) = tokio::join!(several, async { may_answer.add_permits(1) });
        assert!(found.into_iter().all(|it| it.unwrap() == "1"));
    }

    #[tokio::test]
    async fn another_question_or_person_has_an_answer_of_its_own() {
        let (answers, asked) = (SharedAnswers::default(), Asked::default());
        let all = person("*");
        let mut other = person("*");
        other.tenant.workspace = WorkspaceId::new(Uuid::from_u128(3));
        let reader = person("users:read");
        let first = question("/segments/1");
        let of_sql = Question { router: "sql", ..first.clone() };
        let with_body = Question { body: "x".into(), ..first.clone() };
        let posted = Question { method: Method::POST, ..first.clone() };
        let patient = Question { wait_max: Duration::from_mins(1), ..first.clone() };
        for (place, (person, question)) in [
            (&all, first.clone()),
            (&other, first.clone()),
            (&reader, first),
            (&all, question("/segments/2")),
            (&all, of_sql),
            (&all, with_body),
            (&all, posted),
            (&all, patient),
        ]
        .into_iter()
        .enumerate()
        {
            let found = answers.get(person, question, KEPT, asked.answer()).await.unwrap();
            assert_eq!(found, (place + 1).to_string());
        }
    }

    #[tokio::test]
    async fn a_change_is_seen_by_the_next_question() {
        let (answers, asked) = (SharedAnswers::default(), Asked::default());
        let person = person("*");
        for expected in ["1", "2", "3"] {
            let found = answers.get(&person, question("/segments/1"), KEPT, asked.answer()).await;
            assert_eq!(found.unwrap(), expected);
            answers.change(person.tenant.workspace).end();
        }
    }

    #[tokio::test]
    async fn a_change_in_another_workspace_leaves_answers_shared() {
        let (answers, asked) = (SharedAnswers::default(), Asked::default());
        let person = person("*");
        let get = async || {
            let ask = async { asked.answer().await };
            answers.get(&person, question("/segments/1"), LONG, ask).await.unwrap()
        };
        for change in [ANOTHER, ANOTHER, person.tenant.workspace] {
            assert_eq!(get().await, "1");
            // It is given up, so that it may still take effect for a while.
            drop(answers.change(change));
        }
        assert_eq!(get().await, "2");
    }

    #[test]
    fn no_answer_is_shared_until_a_change_that_was_given_up_has_settled() {
        let answers = SharedAnswers::default();
        let changes = |now| answers.changes(WORKSPACE, now);
        let before = changes(Instant::now());
        drop(answers.change(WORKSPACE));
        let (now, later) = (Instant::now(), Instant::now() + SETTLING);
        // It may take effect after any of these questions.
        let given_up = [(); 3].map(|()| changes(now));
        assert!(before < given_up[0] && given_up.is_sorted_by(|one, next| one < next));
        assert_eq!(changes(later), changes(later));
        // One that ended has settled.
        answers.change(WORKSPACE).end();
        let ended = changes(later);
        assert!(given_up[2] < ended);
        assert_eq!(changes(Instant::now()), ended);
    }

    #[test]
    fn an_answer_of_the_settling_time_is_not_given_after_it() {
        let settled = Instant::now() + SETTLING;
        let mut changes = Changes { count: 1, unsettled_until: Some(settled) };
        let last = changes.before(settled.checked_sub(Duration::from_nanos(1)).unwrap());
        let first = changes.before(settled);
        assert!(last < first);
        // From then on answers are shared again.
        assert_eq!(changes.before(settled), first);
    }

    #[tokio::test]
    async fn an_answer_is_kept_as_long_as_its_question_says() {
        let (answers, asked) = (SharedAnswers::default(), Asked::default());
        let person = person("*");
        let none = Duration::ZERO;
        let get = async |address, kept| {
            let ask = async { asked.answer().await };
            answers.get(&person, question(address), kept, ask).await.unwrap()
        };
        assert_eq!([get("/now", none).await, get("/now", none).await], ["1", "2"]);
        assert_eq!([get("/range", LONG).await, get("/range", LONG).await], ["3", "3"]);
        // However long it is kept, it is not given after a change.
        answers.change(person.tenant.workspace).end();
        assert_eq!(get("/range", LONG).await, "4");
    }

    #[tokio::test]
    async fn failures_are_not_kept() {
        let (answers, asked) = (SharedAnswers::default(), Asked::default());
        let person = person("*");
        let failure = || ready(Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "away")));
        let found = answers.get(&person, question("/segments/1"), KEPT, failure()).await;
        assert_eq!(found.unwrap_err().message, "away");
        let found = answers.get(&person, question("/segments/1"), KEPT, asked.answer()).await;
        assert_eq!(found.unwrap(), "1");
    }
}

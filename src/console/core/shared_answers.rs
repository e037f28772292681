//! Answers of questions that take long, shared by the people who ask the same at nearly the same time.
//!
//! Ten people who look at one page ask for the same numbers. Asked once, they leave the processor to the acknowledgement of
//! events. A change that a person makes in the console is seen by every later question.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::Method;
use kernel::Tenant;
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
    /// Changes that were made before.
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
    changes: Arc<AtomicU64>,
    /// Until when a change that was given up may still take effect.
    unsettled_until: Arc<Mutex<Option<Instant>>>,
}

/// A change that is being made. Answers of before are forgotten once it ends, or is dropped before that.
#[derive(Debug)]
#[must_use]
pub(crate) struct ChangeInProgress<'a> {
    answers: &'a SharedAnswers,
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
        if !self.has_ended {
            *self.answers.unsettled() = Some(Instant::now() + SETTLING);
        }
        self.answers.forget();
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
        Self { answers, changes: Arc::default(), unsettled_until: Arc::default() }
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
        let changes = self.changes(Instant::now());
        let key = Key { tenant: person.tenant, scopes: person.scopes, changes, question };
        let ask = async { ask.await.map(|bytes| Answer { bytes, kept }) };
        let answer = self.answers.try_get_with(key, ask).await;
        answer.map(|answer| answer.bytes).map_err(|failure| (*failure).clone())
    }

    /// Begins a change; what it returns is kept until that ends.
    pub(crate) const fn change(&self) -> ChangeInProgress<'_> {
        ChangeInProgress { answers: self, has_ended: false }
    }

    /// No later question gets an answer from before now.
    fn forget(&self) -> u64 {
        self.changes.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Changes that a question comes after; each question comes after one of its own while a change may still take effect,
    /// and so does the first after that: the answer of the last before may be older than the change.
    pub(crate) fn changes(&self, now: Instant) -> u64 {
        let mut unsettled = self.unsettled();
        let Some(until) = *unsettled else { return self.changes.load(Ordering::Acquire) };
        if until <= now {
            *unsettled = None;
        }
        self.forget()
    }

    fn unsettled(&self) -> MutexGuard<'_, Option<Instant>> {
        self.unsettled_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};

    use http::StatusCode;
    use kernel::WorkspaceId;
    use tokio::sync::Semaphore;
    use uuid::Uuid;

    use super::*;
    use crate::{failure::Failure, in_process::tests::person};

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
            answers.change().end();
        }
    }

    #[test]
    fn no_answer_is_shared_until_a_change_that_was_given_up_has_settled() {
        let answers = SharedAnswers::default();
        let before = answers.changes(Instant::now());
        drop(answers.change());
        let (now, later) = (Instant::now(), Instant::now() + SETTLING);
        // It may take effect after any of these questions.
        let given_up = [(); 3].map(|()| answers.changes(now));
        assert!(before < given_up[0] && given_up.is_sorted_by(|one, next| one < next));
        assert_eq!(answers.changes(later), answers.changes(later));
        // One that ended has settled.
        answers.change().end();
        let ended = answers.changes(later);
        assert!(given_up[2] < ended);
        assert_eq!(answers.changes(Instant::now()), ended);
    }

    #[test]
    fn an_answer_of_the_settling_time_is_not_given_after_it() {
        let answers = SharedAnswers::default();
        drop(answers.change());
        let settled = answers.unsettled().unwrap();
        let last = answers.changes(settled.checked_sub(Duration::from_nanos(1)).unwrap());
        let first = answers.changes(settled);
        assert!(last < first);
        // From then on answers are shared again.
        assert_eq!(answers.changes(settled), first);
    }

    #[tokio::test]
    async fn an_answer_is_kept_as_long_as_its_question_says() {
        let (answers, asked) = (SharedAnswers::default(), Asked::default());
        let person = person("*");
        let (none, long) = (Duration::ZERO, Duration::from_hours(1));
        let get = async |address, kept| {
            let ask = async { asked.answer().await };
            answers.get(&person, question(address), kept, ask).await.unwrap()
        };
        assert_eq!([get("/now", none).await, get("/now", none).await], ["1", "2"]);
        assert_eq!([get("/range", long).await, get("/range", long).await], ["3", "3"]);
        // However long it is kept, it is not given after a change.
        answers.change().end();
        assert_eq!(get("/range", long).await, "4");
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

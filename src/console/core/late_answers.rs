//! Answers that come later than their pages. A question that a page did not wait for goes on, and the part of the page that is
//! loaded afterwards takes its answer.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use kernel::{KeyId, Tenant};
use maud::Markup;
use tokio::{sync::oneshot, task::AbortHandle, time::timeout};
use web::auth::ScopeSet;

/// How long an answer can be taken. A browser asks for it as soon as it has the page.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);
/// Most questions of a session that go on so; the oldest ends for a further one.
const OF_SESSION_MAX: usize = 2;
/// Most questions of all sessions; one beyond them ends, and is asked again by its part.
const ALL_MAX: usize = 64;
/// Bytes of the longest answer that waits to be taken; a longer one is asked again.
const BYTES_MAX: usize = 1 << 20;

/// A page of a session, by its address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Page {
    pub(crate) session: KeyId,
    pub(crate) address: String,
}

/// What an answer depends on besides its question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Basis {
    pub(crate) tenant: Tenant,
    pub(crate) scopes: ScopeSet,
    /// Changes that were made in the console of the workspace before.
    pub(crate) changes: u64,
}

/// A question that goes on. Dropping it ends the question.
#[derive(Debug)]
struct Pending {
    id: u64,
    basis: Basis,
    answer: oneshot::Receiver<Markup>,
    /// Whether a page or its part waits for the answer at the moment.
    is_awaited: Arc<AtomicBool>,
    /// Ends the question in time.
    timer: Timer,
}

#[derive(Debug)]
struct Timer(AbortHandle);

impl Drop for Timer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Debug, Default)]
struct Questions {
    pending: HashMap<Page, Pending>,
    last_id: u64,
}

impl Questions {
    /// Ends the oldest question of a session that has as many as it may have.
    fn make_room(&mut self, session: KeyId) {
        let of_session = || self.pending.iter().filter(|(page, _)| page.session == session);
        if of_session().count() < OF_SESSION_MAX {
            return;
        }
        let oldest = of_session().min_by_key(|(_, question)| question.id);
        if let Some(page) = oldest.map(|(page, _)| page.clone()) {
            self.pending.remove(&page);
        }
    }
}

/// The questions that go on. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct LateAnswers {
    questions: Arc<Mutex<Questions>>,
    taken_within: Duration,
}

impl Default for LateAnswers {
    fn default() -> Self {
        Self { questions: Arc::default(), taken_within: TAKEN_WITHIN }
    }
}

impl LateAnswers {
    /// The answer if it is there in time. If not, it can be [taken](Self::take) for a while.
    pub(crate) async fn soon(
        &self,
        page: Page,
        basis: Basis,
        time: Duration,
        answer: impl Future<Output = Markup> + Send + 'static,
    ) -> Option<Markup> {
        self.questions().pending.remove(&page);
        let is_awaited = Arc::new(AtomicBool::new(true));
        let (sender, mut receiver) = oneshot::channel();
        tokio::spawn(run(sender, answer, Arc::clone(&is_awaited)));
        if let Ok(answer) = timeout(time, &mut receiver).await {
            return answer.ok();
        }
        is_awaited.store(false, Ordering::Relaxed);
        let mut questions = self.questions();
        questions.make_room(page.session);
        if questions.pending.len() < ALL_MAX {
            questions.last_id += 1;
            let id = questions.last_id;
            let timer = tokio::spawn(self.clone().end_in_time(page.clone(), id)).abort_handle();
            let timer = Timer(timer);
            let question = Pending { id, basis, answer: receiver, is_awaited, timer };
            questions.pending.insert(page, question);
        }
        None
    }

    /// The answer of a page, once it is made. None where there is none on the same basis, or it is too long: then the question
    /// has to be asked again.
    pub(crate) async fn take(&self, page: &Page, basis: Basis) -> Option<Markup> {
        let question = self.questions().pending.remove(page)?;
        if question.basis != basis {
            return None;
        }
        question.is_awaited.store(true, Ordering::Relaxed);
        drop(question.timer);
        question.answer.await.ok()
    }

    async fn end_in_time(self, page: Page, id: u64) {
        tokio::time::sleep(self.taken_within).await;
        self.end(&page, id);
    }

    fn end(&self, page: &Page, id: u64) {
        let mut questions = self.questions();
        if questions.pending.get(page).is_some_and(|question| question.id == id) {
            questions.pending.remove(page);
        }
    }

    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a question for as long as its answer is waited for.
async fn run(
    mut sender: oneshot::Sender<Markup>,
    answer: impl Future<Output = Markup>,
    is_awaited: Arc<AtomicBool>,
) {
    let answer = tokio::select! {
        answer = answer => answer,
        () = sender.closed() => return,
    };
    if answer.0.len() <= BYTES_MAX || is_awaited.load(Ordering::Relaxed) {
        // Who waited may have gone at this moment.
        let _ = sender.send(answer);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use maud::{PreEscaped, html};
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;
    use crate::in_process::tests::person;

    /// How long an end may take before a test fails.
    const TEST_MAX: Duration = Duration::from_secs(30);

    fn basis() -> Basis {
        let person = person("*");
        Basis { tenant: person.tenant, scopes: person.scopes, changes: 1 }
    }

    fn page(address: &str) -> Page {
        Page { session: "Session00001".parse().unwrap(), address: address.to_owned() }
    }

    fn page_of_another() -> Page {
        Page { session: KeyId::mint(), ..page("/a") }
    }

    /// Questions that go on for so long that it is not the time that ends them.
    fn patient() -> LateAnswers {
        LateAnswers { taken_within: Duration::from_hours(1), ..LateAnswers::default() }
    }

    impl LateAnswers {
        /// Begins a question that the page does not wait for.
        async fn begin(
            &self,
            address: &str,
            answer: impl Future<Output = Markup> + Send + 'static,
        ) {
            let soon = self.soon(page(address), basis(), Duration::ZERO, answer);
            assert!(soon.await.is_none());
        }

        async fn taken(&self, address: &str) -> Option<String> {
            let taken = timeout(TEST_MAX, self.take(&page(address), basis())).await;
            taken.unwrap().map(Markup::into_string)
        }
    }

    /// An answer that is never there, and what receives its end.
    fn endless() -> (impl Future<Output = Markup> + Send + 'static, oneshot::Receiver<()>) {
        let (sender, ended) = oneshot::channel();
        let answer = async move {
            let _ends_with_it = sender;
            pending().await
        };
        (answer, ended)
    }

    async fn has_ended(ended: oneshot::Receiver<()>) -> bool {
        timeout(TEST_MAX, ended).await.is_ok_and(|sent| sent.is_err())
    }

    #[tokio::test]
    async fn an_answer_in_time_comes_with_the_page_alone() {
        let answers = patient();
        let (earlier, ended) = endless();
        answers.begin("/a", earlier).await;
        let found = answers.soon(page("/a"), basis(), TEST_MAX, ready(html! { "now" })).await;
        assert_eq!(found.map(Markup::into_string).as_deref(), Some("now"));
        assert!(has_ended(ended).await, "the earlier question of the page");
        assert_eq!(answers.taken("/a").await, None);
    }

    #[tokio::test]
    async fn a_later_answer_is_awaited_once_by_its_page() {
        let answers = patient();
        let (may_answer, answer) = oneshot::channel();
        answers.begin("/a", async { answer.await.unwrap() }).await;
        assert_eq!(answers.taken("/b").await, None);
        assert!(answers.take(&page_of_another(), basis()).await.is_none());
        may_answer.send(html! { "late" }).unwrap();
        assert_eq!(answers.taken("/a").await.as_deref(), Some("late"));
        assert_eq!(answers.taken("/a").await, None);
    }

    #[tokio::test]
    async fn an_answer_on_another_basis_is_not_taken_and_ends() {
        let answers = patient();
        let reader = person("events:read").scopes;
        for other in [Basis { scopes: reader, ..basis() }, Basis { changes: 2, ..basis() }] {
            let (answer, ended) = endless();
            answers.begin("/a", answer).await;
            assert!(answers.take(&page("/a"), other).await.is_none());
            assert!(has_ended(ended).await);
        }
    }

    #[tokio::test]
    async fn a_question_whose_answer_is_not_taken_ends() {
        let taken_within = Duration::from_millis(1);
        let answers = LateAnswers { taken_within, ..LateAnswers::default() };
        let (answer, ended) = endless();
        answers.begin("/a", answer).await;
        assert!(has_ended(ended).await);
        assert_eq!(answers.taken("/a").await, None);
    }

    #[tokio::test]
    async fn a_question_ends_with_those_who_wait_for_it() {
        let (answers, short) = (patient(), Duration::from_millis(1));
        let (answer, ended) = endless();
        let soon = answers.soon(page("/a"), basis(), TEST_MAX, answer);
        assert!(timeout(short, soon).await.is_err());
        assert!(has_ended(ended).await);
        let (answer, ended) = endless();
        answers.begin("/a", answer).await;
        assert!(timeout(short, answers.take(&page("/a"), basis())).await.is_err());
        assert!(has_ended(ended).await);
    }

    #[tokio::test]
    async fn a_page_that_is_asked_for_again_has_its_last_answer() {
        let answers = patient();
        let (first, ended) = endless();
        answers.begin("/a", first).await;
        let first = answers.questions().last_id;
        let (may_answer, answer) = oneshot::channel();
        answers.begin("/a", async { answer.await.unwrap() }).await;
        assert!(has_ended(ended).await);
        // The time of the first one ends nothing any more.
        answers.end(&page("/a"), first);
        may_answer.send(html! { "last" }).unwrap();
        assert_eq!(answers.taken("/a").await.as_deref(), Some("last"));
    }

    #[tokio::test]
    async fn a_question_that_panics_is_asked_again() {
        let answers = patient();
        answers.begin("/a", async { panic!("a fault of a page") }).await;
        assert_eq!(answers.taken("/a").await, None);
    }

    #[tokio::test]
    async fn a_long_answer_is_shown_only_where_it_is_waited_for() {
        let answers = patient();
        for (bytes, is_kept) in [(BYTES_MAX, true), (BYTES_MAX + 1, false)] {
            let long = move || PreEscaped("x".repeat(bytes));
            let in_time = answers.soon(page("/a"), basis(), TEST_MAX, ready(long())).await;
            assert!(in_time.is_some(), "{bytes} bytes in time");
            for is_awaited in [true, false] {
                let (may_answer, answer) = oneshot::channel();
                answers.begin("/a", async { answer.await.unwrap() }).await;
                let made = async {
                    tokio::task::yield_now().await;
                    may_answer.send(long()).unwrap();
                };
                let taken = if is_awaited {
                    tokio::join!(answers.taken("/a"), made).0
                } else {
                    made.await;
                    // The task of the question runs meanwhile.
                    tokio::task::yield_now().await;
                    answers.taken("/a").await
                };
                let is_shown = is_awaited || is_kept;
                assert_eq!(taken.is_some(), is_shown, "{bytes} bytes, awaited: {is_awaited}");
            }
        }
    }

    #[tokio::test]
    async fn a_session_and_all_sessions_have_limits() {
        let answers = patient();
        let mut ends = Vec::new();
        for number in 0..=OF_SESSION_MAX {
            let (answer, ended) = endless();
            answers.begin(&number.to_string(), answer).await;
            ends.push(ended);
        }
        assert!(has_ended(ends.remove(0)).await, "the oldest one");
        for _ in OF_SESSION_MAX..=ALL_MAX {
            let (answer, ended) = endless();
            let soon = answers.soon(page_of_another(), basis(), Duration::ZERO, answer);
            assert!(soon.await.is_none());
            ends.push(ended);
        }
        assert!(has_ended(ends.pop().unwrap()).await, "the one beyond the limit");
        assert!(ends.iter_mut().all(|ended| ended.try_recv() == Err(TryRecvError::Empty)));
    }
}

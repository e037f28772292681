//! Forms that are sent twice: by a double click, by a reload, or by a browser that tries again. Such a form is handled once, and
//! every further answer leads to where the first one leads.

use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use kernel::KeyId;
use moka::{policy::EvictionPolicy, sync::Cache};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use uuid::Uuid;

use crate::{failure::Failure, form::Form};

/// The hidden field by which a form is known again.
pub(crate) const FIELD: &str = "once";
/// How long a form that was handled is known.
const KNOWN_FOR: Duration = Duration::from_mins(5);
/// Most forms of all sessions that are known.
const KNOWN_MAX: u64 = 2_000;

/// Where a form leads when it is sent again after an answer that is given only once, such as a page with a secret.
#[derive(Debug, Clone)]
pub struct DoneBefore(pub Response<()>);

/// A form that was sent: of a session, with all that was typed. What was typed anew is another form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct SentForm {
    session: KeyId,
    fields: [u8; 32],
}

/// The answer to a form that is sent again.
#[derive(Debug, Clone)]
struct Repeated {
    status: StatusCode,
    headers: HeaderMap,
}

impl Repeated {
    /// Of an answer that did something: one that leads on, or one that says where it leads.
    fn of(answer: &Response) -> Option<Self> {
        let head = |status, headers: &HeaderMap| Self { status, headers: headers.clone() };
        match answer.extensions().get::<DoneBefore>() {
            Some(DoneBefore(to)) => Some(head(to.status(), to.headers())),
            None if answer.status().is_redirection() => {
                Some(head(answer.status(), answer.headers()))
            }
            None => None,
        }
    }

    fn answer(self) -> Response {
        let mut answer = Response::default();
        *answer.status_mut() = self.status;
        *answer.headers_mut() = self.headers;
        answer
    }
}

/// The forms that are handled or were handled a short time ago. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct SentForms(Cache<SentForm, watch::Receiver<Option<Repeated>>>);

impl Default for SentForms {
    fn default() -> Self {
        let forms = Cache::builder().max_capacity(KNOWN_MAX).time_to_live(KNOWN_FOR);
        // Each form is looked for once or twice: the oldest makes room, not the newest.
        Self(forms.eviction_policy(EvictionPolicy::lru()).build())
    }
}

/// A form that is being handled. Dropped without an answer to repeat, it is forgotten: nothing was done.
struct Handled {
    forms: SentForms,
    form: SentForm,
    outcome: watch::Sender<Option<Repeated>>,
}

impl Handled {
    fn end(self, answer: &Response) {
        if let Some(repeated) = Repeated::of(answer) {
            self.outcome.send_replace(Some(repeated));
        }
    }
}

impl Drop for Handled {
    fn drop(&mut self) {
        if self.outcome.borrow().is_none() {
            self.forms.0.invalidate(&self.form);
        }
    }
}

/// A value of the hidden field, for one form of a page.
pub(crate) fn mint() -> String {
    Uuid::new_v4().simple().to_string()
}

fn sent(session: KeyId, form: &Form) -> Option<SentForm> {
    form.filled(FIELD)?;
    let mut hash = Sha256::new();
    for (name, value) in form.pairs() {
        for text in [name, value] {
            hash.update(text.len().to_be_bytes());
            hash.update(text);
        }
    }
    Some(SentForm { session, fields: hash.finalize().into() })
}

impl SentForms {
    /// The answer to a form, by `handle` unless the same form is being handled or was a short time ago. It goes on although the
    /// browser leaves: one that sends a form twice gives the first request up.
    pub(crate) async fn answer(
        &self,
        session: KeyId,
        form: &Form,
        handle: impl Future<Output = Response> + Send + 'static,
    ) -> Response {
        let Some(form) = sent(session, form) else { return handle.await };
        loop {
            let (outcome, first) = watch::channel(None);
            let entry = self.0.entry(form).or_insert_with(|| first);
            if entry.is_fresh() {
                return handled(Handled { forms: self.clone(), form, outcome }, handle).await;
            }
            // Where nothing was done, one of those who wait is the next to try.
            if let Ok(done) = entry.into_value().wait_for(Option::is_some).await
                && let Some(repeated) = done.clone()
            {
                return repeated.answer();
            }
        }
    }
}

/// Handles a form in a task of its own.
async fn handled(
    handled: Handled,
    handle: impl Future<Output = Response> + Send + 'static,
) -> Response {
    let task = tokio::spawn(async move {
        let answer = handle.await;
        handled.end(&answer);
        answer
    });
    task.await.unwrap_or_else(|fault| Failure::internal(&fault).into_response())
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use axum::response::Redirect;
    use http::header::LOCATION;
    use tokio::sync::{Barrier, Semaphore};

    use super::*;

    /// What is made by a form, and how often it was.
    #[derive(Clone, Default)]
    struct Made(Arc<AtomicU64>);

    impl Made {
        async fn make(self) -> Response {
            tokio::task::yield_now().await;
            let made = self.0.fetch_add(1, Ordering::Relaxed) + 1;
            Redirect::to(&format!("/made/{made}")).into_response()
        }

        fn count(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
    }

    fn form(once: &str, name: &str) -> Form {
        Form::new(
            [("once", once), ("name", name)].map(|(key, value)| (key.to_owned(), value.to_owned())),
        )
    }

    fn location(answer: &Response) -> &str {
        answer.headers()[LOCATION].to_str().unwrap()
    }

    #[tokio::test]
    async fn a_form_that_is_sent_again_leads_to_what_the_first_one_made() {
        let (forms, made, session) = (SentForms::default(), Made::default(), KeyId::mint());
        for _ in 0..3 {
            let answer = forms.answer(session, &form("a", "News"), made.clone().make()).await;
            assert_eq!(location(&answer), "/made/1");
        }
        // Another form, the same one with another text, and that of another session are others.
        for (session, form) in [
            (session, form("b", "News")),
            (session, form("a", "Sales")),
            (KeyId::mint(), form("a", "News")),
        ] {
            let before = made.count();
            let answer = forms.answer(session, &form, made.clone().make()).await;
            assert_eq!(location(&answer), format!("/made/{}", before + 1));
        }
        // One without the field is always handled.
        for expected in ["/made/5", "/made/6"] {
            let answer = forms.answer(session, &form("", "News"), made.clone().make()).await;
            assert_eq!(location(&answer), expected);
        }
    }

    #[tokio::test]
    async fn forms_that_are_sent_at_once_are_handled_once_although_the_first_is_given_up() {
        let (forms, made, session) = (SentForms::default(), Made::default(), KeyId::mint());
        let may_answer = Arc::new(Semaphore::new(0));
        let send = || {
            let (made, may_answer) = (made.clone(), Arc::clone(&may_answer));
            let handle = async move {
                may_answer.acquire().await.unwrap().forget();
                made.make().await
            };
            let forms = forms.clone();
            async move { forms.answer(session, &form("a", "News"), handle).await }
        };
        assert!(tokio::time::timeout(Duration::from_millis(1), send()).await.is_err());
        may_answer.add_permits(3);
        let answers = futures_util::future::join_all([send(), send()]).await;
        assert!(answers.iter().all(|answer| location(answer) == "/made/1"));
        assert_eq!(made.count(), 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn forms_that_arrive_on_several_threads_are_handled_once() {
        const THREADS: usize = 4;
        let (forms, session) = (SentForms::default(), KeyId::mint());
        for round in 0..200 {
            let (made, all_are_there) = (Made::default(), Arc::new(Barrier::new(THREADS)));
            let sent: Vec<_> = (0..THREADS)
                .map(|_| {
                    let (forms, made, all_are_there) =
                        (forms.clone(), made.clone(), Arc::clone(&all_are_there));
                    tokio::spawn(async move {
                        let form = form(&round.to_string(), "News");
                        all_are_there.wait().await;
                        location(&forms.answer(session, &form, made.make()).await).to_owned()
                    })
                })
                .collect();
            for answer in sent {
                assert_eq!(answer.await.unwrap(), "/made/1");
            }
            assert_eq!(made.count(), 1);
        }
    }

    #[tokio::test]
    async fn a_form_that_did_nothing_can_be_sent_again() {
        let (forms, made, session) = (SentForms::default(), Made::default(), KeyId::mint());
        let away = Failure::new(StatusCode::SERVICE_UNAVAILABLE, "away");
        let sent = form("a", "News");
        for refused in [away.into_response(), StatusCode::BAD_REQUEST.into_response()] {
            let status = refused.status();
            let answer = forms.answer(session, &sent, async { refused }).await;
            assert_eq!(answer.status(), status);
        }
        let panics = forms.answer(session, &sent, async { panic!("a fault of a page") }).await;
        assert_eq!(panics.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let answer = forms.answer(session, &sent, made.make()).await;
        assert_eq!(location(&answer), "/made/1");
    }

    #[tokio::test]
    async fn an_answer_with_a_secret_is_not_given_again() {
        let (forms, session) = (SentForms::default(), KeyId::mint());
        let show = || async {
            let mut answer = "secret".into_response();
            let (to, ()) = Redirect::to("/keys").into_response().map(drop).into_parts();
            answer.extensions_mut().insert(DoneBefore(Response::from_parts(to, ())));
            answer
        };
        let first = forms.answer(session, &form("a", "News"), show()).await;
        assert_eq!(first.status(), StatusCode::OK);
        let again = forms.answer(session, &form("a", "News"), show()).await;
        assert_eq!(location(&again), "/keys");
    }
}

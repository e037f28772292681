//! How long a client may take over its answer.
//!
//! A body is asked for its next piece only when its client takes what came before. A client that does not, or takes little
//! at a time, would keep the statement with its place and its connection to ClickHouse. So a task beside the body gives the
//! answer up: it drops what the answer comes from.

use std::{
    sync::{Arc, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    task::AbortHandle,
    time::{Instant, sleep_until},
};

/// Looks at an answer within the longest time that its client may take nothing.
const LOOKS_PER_IDLE: u32 = 4;

/// How long a client may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// From the beginning of an answer to its end.
    pub(crate) whole_max: Duration,
    /// Without taking anything, while there is something to take.
    pub(crate) idle_max: Duration,
}

/// What an answer comes from, until its client takes too long.
#[derive(Debug)]
pub(crate) struct Paced<T> {
    shared: Arc<Mutex<State<T>>>,
    watch: AbortHandle,
}

#[derive(Debug)]
struct State<T> {
    /// None once it was given up.
    source: Option<T>,
    /// When the client got the last piece; none while it waits for the next.
    idle_since: Option<Instant>,
    /// Of the body, while the client waits.
    waker: Option<Waker>,
}

impl<T: Send + 'static> Paced<T> {
    pub(crate) fn new(source: T, pace: Pace) -> Self {
        let state = State { source: Some(source), idle_since: Some(Instant::now()), waker: None };
        let shared = Arc::new(Mutex::new(state));
        let watch = tokio::spawn(watch(Arc::downgrade(&shared), pace)).abort_handle();
        Self { shared, watch }
    }

    /// Polls the source; none once it was given up.
    pub(crate) fn poll<R>(
        &self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut T, &mut Context<'_>) -> Poll<R>,
    ) -> Poll<Option<R>> {
        let mut state = self.shared.lock();
        let Some(source) = &mut state.source else { return Poll::Ready(None) };
        let polled = poll(source, cx);
        let is_waiting = polled.is_pending();
        state.idle_since = (!is_waiting).then(Instant::now);
        state.waker = is_waiting.then(|| cx.waker().clone());
        polled.map(Some)
    }
}

impl<T> Drop for Paced<T> {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

/// Gives an answer up when its time is over. It ends with the body.
async fn watch<T>(shared: Weak<Mutex<State<T>>>, pace: Pace) {
    let end = Instant::now() + pace.whole_max;
    while let Some(due) = shared.upgrade().and_then(|answer| look(&answer, end, pace.idle_max)) {
        sleep_until(due.min(Instant::now() + pace.idle_max / LOOKS_PER_IDLE)).await;
    }
}

/// Gives an answer up if its time is over, else says when it will be.
fn look<T>(answer: &Mutex<State<T>>, end: Instant, idle_max: Duration) -> Option<Instant> {
    let mut state = answer.lock();
    let due = state.idle_since.map_or(end, |since| end.min(since + idle_max));
    if Instant::now() < due {
        return Some(due);
    }
    let (source, waker) = (state.source.take(), state.waker.take());
    drop(state);
    tracing::info!("an answer in SQL breaks off: its client took too long");
    drop(source);
    if let Some(waker) = waker {
        waker.wake();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::{
        sync::oneshot,
        time::{sleep, timeout},
    };

    use super::*;

    const SOON: Duration = Duration::from_millis(40);
    const LONG: Duration = Duration::from_mins(10);
    /// A test that waits longer fails.
    const TEST_MAX: Duration = Duration::from_secs(30);

    /// A source that lets know when it is dropped.
    fn paced(pace: Pace) -> (Paced<oneshot::Sender<()>>, oneshot::Receiver<()>) {
        let (source, dropped) = oneshot::channel();
        (Paced::new(source, pace), dropped)
    }

    async fn is_given_up(dropped: oneshot::Receiver<()>) -> bool {
        timeout(TEST_MAX, dropped).await.is_ok_and(|sent| sent.is_err())
    }

    async fn piece<T: Send + 'static>(paced: &Paced<T>) -> Option<()> {
        poll_fn(|cx| paced.poll(cx, |_, _| Poll::Ready(()))).await
    }

    #[tokio::test]
    async fn an_answer_that_is_not_taken_is_given_up() {
        let (paced, dropped) = paced(Pace { whole_max: LONG, idle_max: SOON });
        assert_eq!(piece(&paced).await, Some(()));
        assert!(is_given_up(dropped).await);
        assert_eq!(piece(&paced).await, None);
    }

    #[tokio::test]
    async fn an_answer_that_is_taken_slowly_is_given_up_at_its_end() {
        let (paced, mut dropped) = paced(Pace { whole_max: 4 * SOON, idle_max: LONG });
        let mut pieces = 0;
        while piece(&paced).await.is_some() {
            pieces += 1;
            sleep(SOON / 4).await;
        }
        assert!(pieces > 1 && dropped.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_client_that_waits_is_not_idle_and_learns_of_the_end() {
        let (paced, mut dropped) = paced(Pace { whole_max: 8 * SOON, idle_max: SOON });
        let mut wait = std::pin::pin!(poll_fn(|cx| paced.poll(cx, |_, _| Poll::<()>::Pending)));
        assert!(timeout(3 * SOON, &mut wait).await.is_err(), "the engine may take its time");
        assert_eq!(dropped.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        assert_eq!(timeout(TEST_MAX, wait).await, Ok(None));
    }

    #[tokio::test]
    async fn an_answer_that_is_over_is_gone_with_its_body() {
        let (paced, dropped) = paced(Pace { whole_max: LONG, idle_max: LONG });
        drop(paced);
        assert!(is_given_up(dropped).await);
    }
}

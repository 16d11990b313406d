//! Fair scheduling: limits concurrent calls, and clients take turns.
//!
//! Waiting calls are in one queue per client, identified by its token or address, and a free place goes to the
//! client whose turn it is: a client with hundreds of waiting requests gets as much of the processor as one
//! with a few, and delays it by one call. Programs on this machine without a token are one client.
//!
//! There are two sets of places: for [`Service::work`](crate::Service::work), and for the start of every
//! request up to its first wait ([`Turns::begin`]). Requests that are answered in microseconds, such as a ready
//! signature, end there.

use crate::access::Client;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The client that a task works for, and the number of its request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caller {
    pub(crate) client: Option<Client>,
    /// 0 outside of requests.
    pub(crate) request: u64,
}

tokio::task_local! {
    static CALLER: Caller;
}

/// The caller of this task.
pub(crate) fn caller() -> Caller {
    CALLER.try_with(|caller| *caller).unwrap_or_default()
}

/// Runs work on behalf of a caller.
pub(crate) fn working_for<F: Future>(caller: Caller, work: F) -> impl Future<Output = F::Output> {
    CALLER.scope(caller, work)
}

#[derive(Debug, Default)]
struct Waiting {
    free: usize,
    calls: BTreeMap<Option<Client>, VecDeque<oneshot::Sender<Turn>>>,
    /// Clients with waiting calls, each once.
    order: VecDeque<Option<Client>>,
}

impl Waiting {
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let client = self.order.pop_front()?;
        let calls = self.calls.get_mut(&client)?;
        let call = calls.pop_front();
        match calls.is_empty() {
            true => drop(self.calls.remove(&client)),
            false => self.order.push_back(client),
        }
        call
    }
}

/// The places, and the calls waiting for them.
#[derive(Debug)]
pub(crate) struct Turns(Mutex<Waiting>);

/// A place, which is passed on when dropped.
#[derive(Debug)]
pub(crate) struct Turn(Option<Arc<Turns>>);

impl Turns {
    pub(crate) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Waiting { free: places, ..Waiting::default() })))
    }

    /// Waits for a place for the client of this task.
    pub(crate) async fn take(self: &Arc<Self>) -> Turn {
        let client = caller().client;
        let turn = {
            let mut waiting = self.waiting();
            if waiting.free > 0 {
                waiting.free -= 1;
                return Turn(Some(self.clone()));
            }
            let (call, turn) = oneshot::channel();
            let calls = waiting.calls.entry(client).or_default();
            calls.push_back(call);
            if calls.len() == 1 {
                waiting.order.push_back(client);
            }
            turn
        };
        // The sender is dropped only after it has sent.
        turn.await.unwrap_or(Turn(None))
    }

    /// Runs the first part of some work, up to its first wait, in a place; the rest without.
    ///
    /// Otherwise tasks would run as their connections become readable, so a client with ten times
    /// the connections would get ten times as much. A place is held while the runtime looks at the
    /// other connections, so that waiting requests are known here.
    pub(crate) async fn begin<F: Future>(self: &Arc<Self>, work: F) -> F::Output {
        let mut turn = Some(self.take().await);
        tokio::task::yield_now().await;
        let mut work = std::pin::pin!(work);
        std::future::poll_fn(move |context| {
            let polled = work.as_mut().poll(context);
            drop(turn.take());
            polled
        })
        .await
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(turns) = self.0.take() else { return };
        loop {
            let next = {
                let mut waiting = turns.waiting();
                let next = waiting.next();
                waiting.free += usize::from(next.is_none());
                next
            };
            let Some(call) = next else { return };
            // A waiter that is gone returns the place here; no recursion, which would be deep for
            // many of them.
            match call.send(Turn(Some(turns.clone()))) {
                Ok(()) => return,
                Err(mut back) => drop(back.0.take()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::net::IpAddr;

    fn named(number: u8) -> Option<Client> {
        Some(Client::Address(IpAddr::from([10, 0, 0, number])))
    }

    fn asked_by(number: u8) -> Caller {
        Caller { client: named(number), request: 0 }
    }

    #[test]
    fn clients_take_turns_however_many_calls_they_have() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let turns = Turns::new(1);
            let held = turns.take().await;
            let served: Arc<Mutex<Vec<Option<Client>>>> = Arc::default();
            let mut calls = Vec::new();
            for (number, count) in [(1, 100), (2, 3), (3, 3)] {
                for _ in 0..count {
                    let (turns, served) = (turns.clone(), served.clone());
                    let call = async move {
                        let _held = turns.take().await;
                        served.lock().unwrap().push(super::caller().client);
                        tokio::task::yield_now().await;
                    };
                    calls.push(tokio::spawn(working_for(asked_by(number), call)));
                }
            }
            let waiting = || turns.waiting().calls.values().map(VecDeque::len).sum::<usize>();
            while waiting() < calls.len() {
                tokio::task::yield_now().await;
            }
            drop(held);
            for call in calls {
                call.await.unwrap();
            }
            let served = served.lock().unwrap();
            assert_eq!(served.len(), 106);
            for client in [2, 3] {
                let first: Vec<_> =
                    served.iter().take(9).filter(|it| **it == named(client)).collect();
                assert_eq!(first.len(), 3, "{client} waits behind 1: {served:?}");
            }
            let waiting = turns.waiting();
            assert_eq!((waiting.free, waiting.calls.len(), waiting.order.len()), (1, 0, 0));
        });
    }

    #[test]
    fn requests_answered_immediately_are_shared_by_clients_and_not_by_connections() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let turns = Turns::new(2);
            let served: Arc<Mutex<BTreeMap<Option<Client>, u32>>> = Arc::default();
            let mut connections = Vec::new();
            for (number, count) in [(1, 80), (2, 8), (3, 8)] {
                for _ in 0..count {
                    let (turns, served) = (turns.clone(), served.clone());
                    let connection = async move {
                        while served.lock().unwrap().values().sum::<u32>() < 3000 {
                            let answer = async {
                                *served
                                    .lock()
                                    .unwrap()
                                    .entry(super::caller().client)
                                    .or_default() += 1;
                            };
                            turns.begin(answer).await;
                            // The client reads its answer and asks again.
                            tokio::task::yield_now().await;
                        }
                    };
                    connections.push(tokio::spawn(working_for(asked_by(number), connection)));
                }
            }
            for connection in connections {
                connection.await.unwrap();
            }
            let served = served.lock().unwrap();
            let [one, two, three] = [1, 2, 3].map(|number| served[&named(number)]);
            assert!(one.max(two).max(three) * 4 < one.min(two).min(three) * 5, "{served:?}");
            assert_eq!(turns.waiting().free, 2);
        });
    }

    #[test]
    fn work_that_waits_holds_no_place_for_beginnings() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let turns = Turns::new(1);
            let (send, receive) = oneshot::channel::<()>();
            let mut waits = Box::pin(turns.begin(receive));
            for held in [1, 0] {
                assert!(waits.as_mut().now_or_never().is_none());
                assert_eq!(turns.waiting().free, 1 - held);
            }
            send.send(()).unwrap();
            waits.await.unwrap();
        });
    }

    #[test]
    fn a_caller_that_leaves_while_waiting_holds_no_place() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let turns = Turns::new(1);
            let held = turns.take().await;
            let mut gone: Vec<_> = (0..10_000).map(|_| Box::pin(turns.take())).collect();
            assert!(gone.iter_mut().all(|call| call.as_mut().now_or_never().is_none()));
            // Half of them leave before their turn, half after it has come.
            gone.truncate(5000);
            drop(held);
            drop(gone);
            assert_eq!(turns.waiting().free, 1);
            drop(turns.take().await);
        });
    }
}

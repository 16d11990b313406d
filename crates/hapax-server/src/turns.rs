//! Turns to work: so many calls at once, and clients take turns.
//!
//! Calls that wait do so in one queue for each client, known by its token or its address, and a free place goes to the
//! client whose turn it is: whoever has hundreds of requests waiting gets as much of the processor as one that has a few, and
//! delays it by one call. Programs on this machine without a token count as one client. What is answered without
//! [`Service::work`](crate::Service::work) does not come here.

use crate::access::Client;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

tokio::task_local! {
    static CLIENT: Option<Client>;
}

/// For whom this task works.
pub(crate) fn client() -> Option<Client> {
    CLIENT.try_with(|client| *client).unwrap_or(None)
}

/// Does something for a client.
pub(crate) fn working_for<F: Future>(
    client: Option<Client>,
    work: F,
) -> impl Future<Output = F::Output> {
    CLIENT.scope(client, work)
}

#[derive(Debug, Default)]
struct Waiting {
    free: usize,
    calls: BTreeMap<Option<Client>, VecDeque<oneshot::Sender<Turn>>>,
    /// Clients with calls that wait, each once.
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

/// The places, and who waits for them.
#[derive(Debug)]
pub(crate) struct Turns(Mutex<Waiting>);

/// A place, which goes to the next when dropped.
#[derive(Debug)]
pub(crate) struct Turn(Option<Arc<Turns>>);

impl Turns {
    pub(crate) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Waiting { free: places, ..Waiting::default() })))
    }

    /// A place for the client of this task, when it is its turn.
    pub(crate) async fn take(self: &Arc<Self>) -> Turn {
        let client = client();
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
            // One that has gone gives it back: no recursion, which many of them would make deep.
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
                        served.lock().unwrap().push(super::client());
                        tokio::task::yield_now().await;
                    };
                    calls.push(tokio::spawn(working_for(named(number), call)));
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
    fn whoever_goes_while_waiting_leaves_no_place_taken() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let turns = Turns::new(1);
            let held = turns.take().await;
            let mut gone: Vec<_> = (0..10_000).map(|_| Box::pin(turns.take())).collect();
            assert!(gone.iter_mut().all(|call| call.as_mut().now_or_never().is_none()));
            // Half of them go before their turn, half when it has come.
            gone.truncate(5000);
            drop(held);
            drop(gone);
            assert_eq!(turns.waiting().free, 1);
            drop(turns.take().await);
        });
    }
}

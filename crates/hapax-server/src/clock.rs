//! Answers for a clock whose year cannot be written in HTTP.
//!
//! The library that serves connections writes a `Date` before it reads a request, and panics from the year 10000
//! on. New connections are answered here, without a date, that the clock is wrong; open ones end without an
//! answer, so that their clients connect again. Does not look at requests.

use crate::error::Code;
use hapax_client::moment;
use serde_json::json;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Maximum time for reading a request and writing the answer.
const LONGEST: Duration = Duration::from_secs(2);
/// Bytes read of a request, so that closing does not cut the answer off.
const READ: usize = 64 << 10;

const MESSAGE: &str = "the clock of this machine is not between 1970 and the year 9999; set it";

/// Whether a time can be the date of an answer.
pub(crate) fn is_writable(now: SystemTime) -> bool {
    now.duration_since(UNIX_EPOCH).is_ok_and(|since| since.as_secs() <= moment::LAST)
}

/// Serves a connection until it ends; `None` if it was ended because of the clock.
pub(crate) async fn while_writable<T>(
    now: impl Fn() -> SystemTime,
    connection: impl Future<Output = T>,
) -> Option<T> {
    let mut connection = pin!(connection);
    poll_fn(|context| match is_writable(now()) {
        true => connection.as_mut().poll(context).map(Some),
        false => Poll::Ready(None),
    })
    .await
}

/// The answer to every request.
fn answer() -> String {
    let body = json!({"error": {"code": Code::Storage.name(), "message": MESSAGE}}).to_string();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Answers a connection, and closes it.
pub(crate) async fn refuse(mut stream: TcpStream) {
    tracing::error!("{MESSAGE}");
    let served = async {
        let mut request = vec![0; READ];
        // The answer is the same for any part of any request.
        let _some = stream.read(&mut request).await?;
        stream.write_all(answer().as_bytes()).await?;
        stream.shutdown().await
    };
    // A client that is gone or slow gets no answer.
    let _ = tokio::time::timeout(LONGEST, served).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use tokio::net::TcpListener;

    #[test]
    fn dates_can_be_written_from_1970_to_the_end_of_the_year_9999() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert!(is_writable(at(0)) && is_writable(at(moment::LAST)));
        assert!(!is_writable(at(moment::LAST + 1)) && !is_writable(UNIX_EPOCH - LONGEST));
    }

    #[tokio::test]
    async fn an_open_connection_is_not_served_under_a_wrong_clock() {
        let seconds = Cell::new(0);
        let now = || UNIX_EPOCH + Duration::from_secs(seconds.get());
        let served = Cell::new(0);
        let connection = poll_fn(|context| {
            served.set(served.get() + 1);
            seconds.set(seconds.get() + moment::LAST);
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        assert_eq!(while_writable(now, connection).await, None);
        assert_eq!(served.get(), 2);
        assert_eq!(while_writable(|| UNIX_EPOCH, async { 7 }).await, Some(7));
    }

    #[tokio::test]
    async fn a_request_under_a_wrong_clock_is_answered_that_the_clock_is_wrong() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            refuse(stream).await;
        });
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        serving.await.unwrap();
        assert!(said.starts_with("HTTP/1.1 503 ") && said.contains("year 9999"), "{said}");
    }
}

//! Limits the memory of answers that their clients have not read yet.
//!
//! An answer that is not a stream lies in memory until its last byte was sent. Beyond the first bytes, which are
//! free as for request bodies, all of them count towards `limits.held_bytes`, and those of one client towards its
//! share. An answer that exceeds either is replaced by an error, and the connection ends with it: a client that does
//! not read must not have more prepared for it. Does not limit streams, whose buffers are small.

use crate::access::{Client, Place};
use crate::bodies::{self, FREE};
use crate::error::{ApiError, Code};
use crate::state::Service;
use axum::body::{Body, HttpBody};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::BodyExt;

/// The bytes of an answer. Dropped when the last of them was sent, or the connection ended.
struct Unread {
    bytes: Bytes,
    _held: bodies::Held,
    _share: Option<Place>,
}

impl AsRef<[u8]> for Unread {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Counts a complete answer until it was sent.
pub(crate) async fn counted(
    service: &Service,
    client: Option<Client>,
    answer: Response,
) -> Response {
    let large = answer.body().size_hint().exact().is_some_and(|size| size > FREE as u64);
    if !large {
        return answer;
    }
    let (parts, body) = answer.into_parts();
    let counted = async {
        let failed = |_| ApiError::internal("an answer could not be put together");
        let bytes = body.collect().await.map_err(failed)?.to_bytes();
        let mut held = service.bodies.hold();
        held.set(bytes.len())?;
        let share = service.unread.take(client, bytes.len() - FREE).map_err(|most| {
            let message =
                format!("you have not read {most} bytes of earlier answers; read them first");
            ApiError::new(Code::TooManyRequests, message)
        })?;
        Ok::<_, ApiError>(Unread { bytes, _held: held, _share: share })
    };
    match counted.await {
        Ok(unread) => Response::from_parts(parts, Body::from(Bytes::from_owner(unread))),
        Err(error) => {
            let mut refused = error.into_response();
            refused.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            refused
        }
    }
}

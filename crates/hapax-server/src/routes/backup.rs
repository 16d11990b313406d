//! `POST /v1/backup`: the repository as of one commit, while it is used.
//!
//! A copy is made beside the repository and sent; then it is removed. Its length is known before the first byte, so a
//! copy that was cut is never taken for a whole one; the store's `receive` also checks it. It holds the repository's key:
//! only whoever may write gets it. One at a time. Texts kept for showing are not in it.

use crate::error::ApiError;
use crate::middleware::body_of;
use crate::state::Service;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Bytes that are read and sent at once.
const PIECE: usize = 256 << 10;

/// A folder that goes with the value.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The route.
pub async fn backup(State(service): State<Arc<Service>>) -> Result<Response, ApiError> {
    let turn = service.backups.clone().try_acquire_owned().map_err(|_| ApiError::overloaded())?;
    // Among the large ones: it reads everything.
    let copied = service.work_on(usize::MAX, |service| {
        let folder = Temporary(service.repository.folder().join("backup.new"));
        let _ = fs::remove_dir_all(&folder.0);
        service.repository.snapshot(&folder.0)?;
        let failed = |error: std::io::Error| ApiError::internal(format!("the copy: {error}"));
        let file = File::open(folder.0.join(hapax_store::FILE)).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        Ok((folder, file, bytes))
    });
    let (folder, file, bytes) = copied.await?;
    let (send, body) = mpsc::channel(2);
    tokio::task::spawn_blocking(move || {
        let _held = (turn, folder);
        let mut file = file;
        loop {
            let mut piece = vec![0; PIECE];
            let read = match file.read(&mut piece) {
                Ok(0) | Err(_) => return,
                Ok(read) => read,
            };
            piece.truncate(read);
            if send.blocking_send(Bytes::from(piece)).is_err() {
                return;
            }
        }
    });
    let mut response = Response::new(body_of(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    Ok(response)
}

//! Tests of reading from a web server and a hub, both on loopback and failing on request.
//!
//! The clouds are tested with a real server, in Python: `python/tests/test_object_stores.py`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod hub;
mod server;
mod web;

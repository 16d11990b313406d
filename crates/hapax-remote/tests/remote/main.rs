//! Tests of reading from a web server and from a hub, both on loopback and breaking on request.
//!
//! The clouds are tested against a real server, in Python: `python/tests/test_object_stores.py`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod hub;
mod server;
mod web;

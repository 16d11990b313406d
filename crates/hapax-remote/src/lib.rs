//! Objects of stores and hubs as blocking readers and writers.
//!
//! [`find`](Finder::find) turns an address into [`Object`]s with their size and version. An [`Object`] is read in
//! ranges, several of them in flight, in bounded memory; every range is asked for under the version that was found,
//! so an object that is replaced meanwhile is an error and never a mixture. A [`Folder`] takes files by uploads that
//! appear whole or not at all.
//!
//! The clouds are those of the `object_store` crate; its asynchronous side and its runtime stay in here. Requests go
//! over one blocking HTTP client, which follows no redirect where requests are signed.
//!
//! Not handled: listings of web servers, names with empty segments, `hf://` other than datasets.

mod address;
mod cloud;
mod find;
mod http;
mod hub;
mod object;
mod parse;
mod profile;
mod reader;
mod runtime;
mod upload;
mod web;

pub use address::{is_address, shown};
pub use {find::Finder, object::Object, reader::Reader, upload::Folder};

/// What an address stands for.
#[derive(Debug)]
pub enum Found {
    One(Object),
    /// Those that match, perhaps none.
    Matching(Vec<Object>),
    /// Everything below, with the part of each name that is below.
    Below(Vec<(Object, String)>),
}

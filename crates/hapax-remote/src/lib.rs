//! Objects of stores and hubs as blocking readers and writers.
//!
//! [`find`](Finder::find) turns an address into [`Object`]s with size and version. An [`Object`] is read in
//! concurrent ranges in bounded memory, each for the version found, so an object that is replaced meanwhile is an
//! error. A [`Folder`] takes uploads that appear whole or not at all. Clouds are those of the `object_store` crate,
//! whose runtime stays inside; requests use one blocking HTTP client, which follows no redirect where requests are
//! signed. Not handled: listings of web servers, names with empty segments, `hf://` other than datasets.

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

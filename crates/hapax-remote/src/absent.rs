//! What stands in for everything else in a build without stores: addresses are refused, with the way out.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use crate::Found;

fn absent<T>() -> io::Result<T> {
    let what = "this build reads local files only; build it with `--features remote`, or use the Python wheel, the \
                release archive or the container, which have it";
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

/// There is none.
#[derive(Clone, Debug)]
pub enum Object {}

/// There is none.
#[derive(Debug)]
pub enum Reader {}

/// There is none.
#[derive(Debug)]
pub enum Folder {}

/// Finds nothing.
#[derive(Debug, Default)]
pub struct Finder;

impl Finder {
    /// Refuses.
    pub fn find(&mut self, _: &str) -> io::Result<Found> {
        absent()
    }

    /// Does nothing.
    pub fn prepare<'a>(&mut self, _: impl Iterator<Item = &'a str>) -> io::Result<()> {
        Ok(())
    }
}

impl Object {
    pub fn name(&self) -> &str {
        match *self {}
    }

    pub fn size(&self) -> u64 {
        match *self {}
    }

    pub fn version(&self) -> String {
        match *self {}
    }

    pub fn reader(&self) -> Reader {
        match *self {}
    }

    pub fn copy(&self, _: impl IntoIterator<Item = Range<u64>>) -> io::Result<File> {
        match *self {}
    }
}

impl Read for Reader {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

impl Seek for Reader {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        match *self {}
    }
}

impl Folder {
    /// Refuses.
    pub fn open(_: &str) -> io::Result<Self> {
        absent()
    }

    pub fn name(&self, _: &str) -> String {
        match *self {}
    }

    pub fn list(&self) -> io::Result<Vec<String>> {
        match *self {}
    }

    pub fn remove(&self, _: &str) -> io::Result<()> {
        match *self {}
    }

    pub fn abort(&self, _: &str, _: &str) -> io::Result<()> {
        match *self {}
    }

    pub fn send(
        &self,
        _: &Path,
        _: &str,
        _: &mut dyn FnMut(&str) -> io::Result<()>,
        _: &mut dyn FnMut(u64) -> bool,
    ) -> io::Result<()> {
        match *self {}
    }
}

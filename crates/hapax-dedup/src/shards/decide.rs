//! Decides about the documents of all shards from their signatures alone.
//!
//! Reads the signature files twice: for the pages, then for the tables. All shards must be present and made
//! from the same list of inputs with the same recipe, key, scope and read options. The report has no examples,
//! which need texts.

use std::path::{Path, PathBuf};
use std::{fs, io};

use hapax::fingerprint::Key;
use hapax_corpus::{Fact, FileId};
use hapax_remote::{Finder, Found, is_address};
use tempfile::TempDir;

use super::ENDING;
use super::fingerprint::ONE_SHARD;
use crate::against::{Earlier, KEPT_SIGNATURES};
use crate::decide::Decision;
use crate::error::Error;
use crate::job::{self, Clock, Finished, REPORT, RUN};
use crate::key;
use crate::options::{Confirm, Options};
use crate::outputs::{
    BatchRows, GROUPS, LAST, OutFolder, REMOVED, Shown, Summary, TableFile, address_rows, leads,
};
use crate::passed_over::PassedRecord;
use crate::read::Corpus;
use crate::report::{self, Contents, Counted, Examples};
use crate::signatures::{
    BatchRecords, Header, Passed, ShardInputs, SignatureBatch, SignatureReader,
};
use crate::threads::Threads;
use crate::watch::{Stage, Watch};

/// Decides about all documents whose signatures are in a folder; writes what
/// [`dedup`](crate::dedup()) writes except the kept documents.
///
/// # Errors
///
/// A shard is missing, damaged or made with other options, or the job needs texts.
pub fn dedup_signatures(
    folder: &Path,
    out: &Path,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Finished, Error> {
    if options.confirm == Confirm::Exact {
        return Err(Error::NoTexts);
    }
    options.check_frames(Some(ONE_SHARD))?;
    let shards = Shards::find(folder, options)?;
    let mut options = options.clone();
    if let Some(key) = &shards.key {
        options.fingerprinter = options.fingerprinter.with_short_key(key);
    }
    let options = &options;
    let earlier = Earlier::load(&options.against, options)?;
    shards.check_key(&earlier)?;
    let out = OutFolder::open(out, options.work.as_deref(), true)?;
    let scratch = out.making("");
    let threads = &Threads::new(options.threads)?.until(&options.stop);
    let mut clock = Clock::start();
    watch.stage(Stage::Reading);
    let corpus = shards.read(options, &scratch, threads, watch)?;
    let inputs = shards.given();
    if corpus.pages.is_empty() {
        return Err(Error::NoDocuments { inputs: inputs.join(", ") });
    }
    if let Some((first, second)) = threads.run(|_| Ok(job::one_id_twice(&corpus.pages)))? {
        let id = corpus.pages.id(first).to_owned();
        let (first, second) = (shards.place_of(first)?, shards.place_of(second)?);
        return Err(Error::DuplicateId { id, first, second });
    }
    let mut run = job::run_of(&corpus, options, &mut clock);
    let decision = job::decide_all(&corpus, &earlier, options, &scratch, threads, watch)?;
    (run.deciding_seconds, run.deciding_cpu_seconds) = clock.lap();
    watch.decided(&decision);
    watch.stage(Stage::Writing);
    let files = shards.files();
    let format = job::as_read(&corpus, files.iter());
    let summary = || Summary::of(&corpus, &decision, options, format, &inputs);
    let counted = threads.run(|_| Ok(Counted::of(summary, &decision)))?;
    let summary = counted.summary.clone();
    let passed = shards.write_tables(&decision, &files, &out, options, watch)?;
    threads.run(|threads| job::write_signatures(&decision, &out, options, threads))?;
    let examples = Examples::choose(&decision);
    let shown = Shown { examples, passed, frames: report::Frames::new(&[]) };
    let contents = Contents::of(counted, &decision, shown, options.made.clone());
    out.make(REPORT, report::page(&contents, &options.fingerprinter).as_bytes())?;
    out.make(LAST, &job::json(&summary))?;
    (run.writing_seconds, run.writing_cpu_seconds) = clock.lap();
    run.peak_memory = job::peak_memory();
    out.make(RUN, &job::json(&run))?;
    let files = out.publish(&[KEPT_SIGNATURES, GROUPS, REMOVED, REPORT, RUN, LAST], watch)?;
    Ok(Finished { summary, run, files })
}

/// The signature files of all shards, in order.
struct Shards {
    folder: PathBuf,
    shards: Vec<(PathBuf, ShardInputs)>,
    key: Option<Key>,
    /// Local copies of files in an object store, which are read more than once.
    _copies: Option<TempDir>,
}

/// Copies the signature files at an address to a temporary folder.
fn copies(address: &str) -> io::Result<TempDir> {
    let copies = tempfile::tempdir()?;
    let below = match Finder::default().find(&format!("{}/", address.trim_end_matches('/')))? {
        Found::Below(below) => below,
        Found::One(_) | Found::Matching(_) => Vec::new(),
    };
    for (object, name) in below {
        if name.ends_with(ENDING) && !name.contains('/') {
            io::copy(&mut object.reader(), &mut fs::File::create_new(copies.path().join(name))?)?;
        }
    }
    Ok(copies)
}

impl Shards {
    fn find(folder: &Path, options: &Options) -> Result<Self, Error> {
        let copies = match folder.to_str().filter(|folder| is_address(folder)) {
            Some(address) => Some(copies(address).map_err(|e| Error::io("read", folder, e))?),
            None => None,
        };
        let called = folder;
        let folder = copies.as_ref().map_or(folder, TempDir::path);
        let listed = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let listed = listed.map_err(|error| Error::io("list", folder, error))?;
        let mut paths: Vec<PathBuf> = listed.into_iter().map(|it| it.path()).collect();
        paths.retain(|path| path.to_string_lossy().ends_with(ENDING) && path.is_file());
        paths.sort();
        let mut first: Option<Header> = None;
        let mut shards: Vec<(PathBuf, ShardInputs)> = Vec::new();
        for path in paths {
            let theirs = SignatureReader::open(&path)?.header().clone();
            let wrong = |what: String| Error::Signatures { path: path.clone(), what };
            let Some(shard) = theirs.shard.clone() else {
                return Err(wrong("it holds no shard; `--signatures` makes those".to_owned()));
            };
            let ours = first.get_or_insert_with(|| {
                let inputs = theirs.inputs.as_ref().map(|inputs| inputs.read_with(options));
                Header { key: theirs.key.clone(), ..Header::of(options, inputs) }
            });
            if let Some(why) = ours.difference(&theirs) {
                return Err(wrong(format!("{why}; give all shards and the decision the same")));
            }
            let expected = (shards.len() as u32, shards.first().map_or(shard.of, |it| it.1.of));
            if (shard.number, shard.of) != expected {
                let what = format!(
                    "it is shard {}/{}, and shard {}/{} should come next: fingerprint that one, or remove files of \
                     other jobs",
                    shard.number, shard.of, expected.0, expected.1
                );
                return Err(wrong(what));
            }
            shards.push((path, shard));
        }
        let missing = |what: String| Error::Signatures { path: called.to_owned(), what };
        match shards.last() {
            None => Err(missing(format!("it has no file that ends in {ENDING}"))),
            Some((_, last)) if last.number + 1 < last.of => Err(missing(format!(
                "it has the shards 0 to {} of {}; fingerprint the others, too",
                last.number, last.of
            ))),
            Some(_) => {
                let key = first.and_then(|header| header.key).as_deref().and_then(key::from_hex);
                Ok(Self { folder: called.to_owned(), shards, key, _copies: copies })
            }
        }
    }

    /// Sketches made under different keys are not comparable.
    fn check_key(&self, earlier: &Earlier) -> Result<(), Error> {
        match earlier.key() {
            Some(key) if Some(key) != self.key.as_ref() => Err(Error::Signatures {
                path: self.folder.clone(),
                what: "its shards were fingerprinted without the earlier runs that are given now; give all shards and \
                       the decision the same"
                    .to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// The path or address that the user gave.
    fn given(&self) -> Vec<String> {
        self.shards.iter().flat_map(|(_, shard)| shard.given.iter().cloned()).collect()
    }

    fn files(&self) -> Vec<String> {
        self.shards.iter().flat_map(|(_, shard)| shard.files.iter().cloned()).collect()
    }

    /// Calls `take` for every batch in order, with parts and files numbered across shards.
    fn each(
        &self,
        mut take: impl FnMut(SignatureBatch, BatchRecords) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut first_file, mut parts) = (0, 0);
        for (path, shard) in &self.shards {
            let mut reader = SignatureReader::open(path)?;
            let count = shard.files.len() as u32;
            let damaged = || Error::Signatures {
                path: path.clone(),
                what: "it names a file that its shard does not have".to_owned(),
            };
            let renumber = |file: &mut FileId| {
                let within = file.0.checked_sub(shard.first_file).filter(|it| *it < count);
                file.0 = first_file + within.ok_or_else(damaged)?;
                Ok::<(), Error>(())
            };
            let first_part = parts;
            while let Some((mut batch, mut records)) = reader.next_with_records()? {
                batch.part += first_part;
                parts = batch.part + 1;
                for fact in &mut batch.facts {
                    let (Fact::Redirect { place, .. } | Fact::Revisit { place, .. }) = fact;
                    renumber(&mut place.file)?;
                }
                for (file, _) in &mut records.places {
                    renumber(file)?;
                }
                for (_, passed) in &mut records.passed {
                    if let Passed::Record(PassedRecord { file: Ok(file), .. }) = passed {
                        renumber(file)?;
                    }
                }
                take(batch, records)?;
            }
            first_file += count;
        }
        Ok(())
    }

    fn read(
        &self,
        options: &Options,
        scratch: &Path,
        threads: &Threads,
        watch: &mut dyn Watch,
    ) -> Result<Corpus, Error> {
        let mut corpus = Corpus::gathering(options, scratch);
        self.each(|batch, _| {
            watch.progress(batch.pages.len() as u64, 0);
            corpus.add(batch)?;
            options.join_memory(&corpus.pages)?;
            if watch.stopped() { Err(Error::Stopped) } else { Ok(()) }
        })?;
        corpus.learn_frames(threads)?;
        Ok(corpus)
    }

    /// File and record of a document; slow, for errors only.
    fn place_of(&self, page: u32) -> Result<String, Error> {
        let files = self.files();
        let mut before = 0;
        let mut found = format!("document {page}");
        self.each(|_, records| {
            let place = (page as usize).checked_sub(before).and_then(|at| records.places.get(at));
            if let Some((file, number)) = place {
                found = format!("{}, record {number}", files[file.0 as usize]);
            }
            before += records.places.len();
            Ok(())
        })?;
        Ok(found)
    }

    /// Writes both tables; returns the first passed-over records.
    fn write_tables(
        &self,
        decision: &Decision<'_>,
        files: &[String],
        out: &OutFolder,
        options: &Options,
        watch: &mut dyn Watch,
    ) -> Result<Vec<report::Passed>, Error> {
        let mut groups = TableFile::create(&out.making(GROUPS), options.threads)?;
        let mut removed = TableFile::create(&out.making(REMOVED), options.threads)?;
        let documents = decision.pages().len() as u32;
        let (mut position, mut shown) = (0, Vec::new());
        self.each(|batch, records| {
            if position + batch.pages.len() as u32 > documents {
                return Err(Error::Changed { path: self.folder.display().to_string() });
            }
            let mut rows = BatchRows::default();
            let mut facts = batch.facts.iter();
            let mut passed = records.passed.iter().peekable();
            let mut pass = |before: usize, rows: &mut BatchRows| {
                while let Some((_, it)) = passed.next_if(|it| it.0 as usize <= before) {
                    let record = match it {
                        Passed::Record(record) => Some(record.clone()),
                        Passed::Fact => facts
                            .next()
                            .filter(|fact| !leads(decision, fact))
                            .map(PassedRecord::fact),
                    };
                    let Some(record) = record else { continue };
                    let file = match &record.file {
                        Ok(file) => &files[file.0 as usize],
                        Err(name) => name,
                    };
                    rows.passed(&record, file);
                }
            };
            for (at, (file, number)) in records.places.iter().enumerate() {
                pass(at, &mut rows);
                rows.document(decision, position, &files[file.0 as usize], *number);
                position += 1;
            }
            pass(records.places.len(), &mut rows);
            let room = report::passed::MOST.saturating_sub(shown.len());
            shown.extend(rows.passed.into_iter().take(room));
            groups.add(rows.groups.into_batch())?;
            removed.add(rows.removed.into_batch())?;
            watch.progress(records.places.len() as u64, 0);
            if watch.stopped() { Err(Error::Stopped) } else { Ok(()) }
        })?;
        if position != documents {
            return Err(Error::Changed { path: self.folder.display().to_string() });
        }
        groups.add(address_rows(decision, files))?;
        groups.finish()?;
        removed.finish()?;
        Ok(shown)
    }
}

//! Comparison with an earlier crawl, and resuming an interrupted job.

use hapax_dedup::{Options, Watch};

use crate::folder::{Folder, jsonl, options, words};

fn lines(documents: &[(&str, String)]) -> String {
    jsonl(documents.iter().map(|(id, text)| ((*id).to_owned(), text.as_str())))
}

#[test]
fn documents_kept_by_an_earlier_job_are_named_and_not_kept_again() {
    let folder = Folder::new();
    let (one, two, three) = (words(100, 1), words(100, 2), words(100, 3));
    let first = folder.write(
        "first.jsonl",
        lines(&[("old-1", one.clone()), ("old-2", two.clone()), ("old-copy", one.clone())]),
    );
    folder.dedup(&[&first], "first", |_| {}).unwrap();
    let second = folder.write(
        "second.jsonl",
        lines(&[
            // Shorter names would win if rules decided here.
            ("a", one.clone()),
            ("b", format!("{two} and a little more")),
            ("c", three.clone()),
            ("d", format!("{three} and a little more")),
            ("e", format!("{two} and a little more")),
            ("f", String::new()),
        ]),
    );
    let against = |options: &mut Options| options.against = vec![folder.path("first")];
    let summary = folder.dedup(&[&second], "second", against).unwrap().summary;
    assert_eq!((summary.kept, summary.exact, summary.near, summary.known), (2, 1, 3, 3));
    let rows = folder.table("second/groups.parquet");
    assert_eq!((rows["a"].winner.as_str(), rows["a"].outcome.as_str()), ("old-1", "exact"));
    assert_eq!((rows["b"].winner.as_str(), rows["b"].outcome.as_str()), ("old-2", "near"));
    assert_eq!((rows["e"].winner.as_str(), rows["e"].outcome.as_str()), ("old-2", "near"));
    assert_eq!((rows["d"].winner.as_str(), rows["d"].outcome.as_str()), ("c", "near"));
    assert_eq!(rows["a"].reason.as_deref(), Some("kept by an earlier job"));

    // The third crawl against both.
    let third =
        folder.write("third.jsonl", lines(&[("x", one), ("y", three), ("z", words(100, 4))]));
    let both = |options: &mut Options| {
        options.against = vec![folder.path("first"), folder.path("second/kept.signatures")];
    };
    let summary = folder.dedup(&[&third], "third", both).unwrap().summary;
    assert_eq!((summary.kept, summary.known), (1, 2));
}

#[test]
fn an_earlier_job_of_another_recipe_or_a_damaged_one_is_refused() {
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", lines(&[("a", words(50, 1))]));
    folder.dedup(&[&input], "first", |_| {}).unwrap();
    let refusal = |change: &dyn Fn(&mut Options)| {
        let error = folder.dedup(&[&input], "second", |options| {
            options.against = vec![folder.path("first")];
            change(options);
        });
        assert!(!folder.path("second").exists());
        error.unwrap_err().to_string()
    };
    let other = hapax::fingerprint::Recipe::built_in("zhu-shingles").unwrap();
    let other = hapax::fingerprint::Fingerprinter::new(other, None).unwrap();
    let error = refusal(&|options| options.fingerprinter = other.clone());
    assert!(error.contains("zhu-shingles") && error.contains("web-2"), "{error}");
    let error = refusal(&|options| options.scope = "host".parse().unwrap());
    assert!(error.contains("scope none"), "{error}");

    let mut bytes = folder.read("first/kept.signatures");
    let middle = bytes.len() - 60;
    bytes[middle] ^= 1;
    folder.write("first/kept.signatures", &bytes);
    assert!(refusal(&|_| {}).contains("damaged"));
    folder.write("first/kept.signatures", "something else");
    assert!(refusal(&|_| {}).contains("not a file of signatures"));
    std::fs::remove_file(folder.path("first/kept.signatures")).unwrap();
    assert!(refusal(&|_| {}).contains("kept.signatures"));
}

/// Counts the documents taken from the checkpoint.
#[derive(Default)]
struct Resumed(u64);

impl Watch for Resumed {
    fn resumed(&mut self, documents: u64) {
        self.0 = documents;
    }
}

#[test]
fn an_interrupted_job_resumes_and_writes_the_same() {
    let folder = Folder::new();
    let texts: Vec<(String, String)> =
        (0..3000).map(|i| (format!("{i}"), words(300, i % 700))).collect();
    let all = jsonl(texts.iter().map(|(id, text)| (id.clone(), text.as_str())));
    let input = folder.write("pages.jsonl", all);
    let inputs = [input];
    let options = options(|options| options.read.limits.batch = 1 << 16);
    let whole = folder.path("whole");
    hapax_dedup::dedup(&inputs, &whole, &options, &mut ()).unwrap();
    let checkpoint = checkpoint(&folder, &inputs, &options);
    for cut in [checkpoint.len(), checkpoint.len() * 2 / 3, 40] {
        let out = folder.path(&format!("out-{cut}"));
        std::fs::create_dir_all(out.join(".hapax-work")).unwrap();
        std::fs::write(out.join(".hapax-work/signatures"), &checkpoint[..cut]).unwrap();
        let mut resumed = Resumed::default();
        hapax_dedup::dedup(&inputs, &out, &options, &mut resumed).unwrap();
        assert_eq!(resumed.0 > 0, cut > 40, "{cut}");
        for name in
            ["kept.jsonl", "groups.parquet", "removed.parquet", "report.html", "summary.json"]
        {
            let (one, other) = (std::fs::read(whole.join(name)), std::fs::read(out.join(name)));
            assert!(one.unwrap() == other.unwrap(), "{name} after {cut} bytes");
        }
        assert!(!out.join(".hapax-work").exists());
    }
}

/// The checkpoint of a job that failed after reading: its output cannot be written.
fn checkpoint(folder: &Folder, inputs: &[String], options: &Options) -> Vec<u8> {
    /// Removes the folder for kept documents when writing begins.
    struct RemoveOutput(std::path::PathBuf);
    impl Watch for RemoveOutput {
        fn stage(&mut self, stage: hapax_dedup::Stage) {
            if stage == hapax_dedup::Stage::Writing {
                std::fs::create_dir(self.0.join(".hapax-work/groups.parquet")).unwrap();
            }
        }
    }
    let out = folder.path("sabotaged");
    let mut saboteur = RemoveOutput(out.clone());
    hapax_dedup::dedup(inputs, &out, options, &mut saboteur).unwrap_err();
    std::fs::read(out.join(".hapax-work/signatures")).unwrap()
}

#[test]
fn a_caller_can_stop_a_job_while_it_reads_and_while_it_writes() {
    /// Stops once a stage makes progress.
    struct StopAt {
        at: hapax_dedup::Stage,
        now: Option<hapax_dedup::Stage>,
        progressed: bool,
    }
    impl Watch for StopAt {
        fn stage(&mut self, stage: hapax_dedup::Stage) {
            (self.now, self.progressed) = (Some(stage), false);
        }
        fn progress(&mut self, _documents: u64, _input_bytes: u64) {
            self.progressed = true;
        }
        fn stopped(&self) -> bool {
            self.progressed && self.now == Some(self.at)
        }
    }
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", lines(&[("a", words(50, 1)), ("b", words(50, 2))]));
    for at in [hapax_dedup::Stage::Reading, hapax_dedup::Stage::Writing] {
        let mut enough = StopAt { at, now: None, progressed: false };
        let out = folder.path("out");
        let stopped =
            hapax_dedup::dedup(std::slice::from_ref(&input), &out, &options(|_| {}), &mut enough);
        assert!(matches!(stopped, Err(hapax_dedup::Error::Stopped)), "{at:?}");
        assert!(!out.join("summary.json").exists());
    }
}

#[test]
fn two_jobs_do_not_work_in_one_folder() {
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", lines(&[("a", words(50, 1))]));
    struct Meanwhile<'f>(&'f Folder, String);
    impl Watch for Meanwhile<'_> {
        fn stage(&mut self, stage: hapax_dedup::Stage) {
            if stage == hapax_dedup::Stage::Writing {
                let second = self.0.dedup(&[&self.1], "out", |_| {});
                assert!(second.unwrap_err().to_string().contains("another job"));
            }
        }
    }
    let mut meanwhile = Meanwhile(&folder, input.clone());
    hapax_dedup::dedup(&[input], &folder.path("out"), &options(|_| {}), &mut meanwhile).unwrap();
}

#[test]
fn too_little_memory_is_reported_at_once_and_enough_changes_nothing() {
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", lines(&[("a", words(50, 1)), ("b", words(50, 1))]));
    let little = |options: &mut Options| options.memory = Some(1 << 20);
    let error = folder.dedup(&[&input], "out", little).unwrap_err().to_string();
    assert!(error.starts_with("1048576 bytes of memory are not enough"), "{error}");
    assert!(!folder.path("out").exists());
    let enough = |options: &mut Options| options.memory = Some(1 << 30);
    assert_eq!(folder.dedup(&[&input], "out", enough).unwrap().summary.kept, 1);
}

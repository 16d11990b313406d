//! Parquet in and out: columns by name, damaged footers, schemas that are kept.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Float32Array, Int64Array, LargeStringArray,
    RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema};
use hapax_corpus::{Content, Fields, Kind, ReadOptions, Reason, Source, Timestamp};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::make::{Folder, failure, gzip, read, read_all, read_well, words};

/// Rows of a crawl in row groups of ten, with an unused column.
pub(crate) fn table(path: &Path, rows: i64) -> String {
    let numbers: Vec<i64> = (0..rows).collect();
    let texts: Vec<String> = numbers.iter().map(|n| words(*n as u64, 30)).collect();
    let hosts: DictionaryArray<Int32Type> =
        numbers.iter().map(|n| if n % 2 == 0 { "even.test" } else { "odd.test" }).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(numbers.clone()))),
        ("url", Arc::new(StringArray::from_iter_values(numbers.iter().map(|n| format!("u:{n}"))))),
        ("text", Arc::new(LargeStringArray::from(texts))),
        ("score", Arc::new(Float32Array::from_iter_values(numbers.iter().map(|n| *n as f32)))),
        ("host", Arc::new(hosts)),
        (
            "fetched_at",
            Arc::new(TimestampMicrosecondArray::from_iter_values(
                numbers.iter().map(|n| n * 1_000_000),
            )),
        ),
    ];
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, column)| Field::new(*name, column.data_type().clone(), true))
        .collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(10))
        .set_key_value_metadata(Some(vec![KeyValue::new("origin".to_owned(), "a test".to_owned())]))
        .build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn rows_become_documents_group_by_group() {
    let folder = Folder::new();
    let path = table(&folder.path("x.parquet"), 35);
    let source = Source::open(&[&path], ReadOptions::default()).unwrap();
    assert_eq!(source.batches().count(), 4);
    let all = read_all(&source).unwrap();
    assert_eq!(all.documents.len(), 35);
    let document = &all.documents[23];
    assert_eq!((&*document.id, document.url.as_deref()), ("23", Some("u:23")));
    assert_eq!(document.place.number, 24);
    assert_eq!(document.body.kind, Kind::Text);
    assert_eq!(all.bodies()[23], words(23, 30));
    assert_eq!(document.score, Some(23.0));
    assert_eq!(document.fetched, Some(Timestamp::from_seconds(23)));
    assert_eq!(document.field("host").as_deref(), Some("odd.test"));
    for number in [0, 9, 10, 34] {
        let again = source.read_at(all.documents[number].place).unwrap();
        assert_eq!(again.id, number.to_string());
    }
}

#[test]
fn only_the_needed_columns_are_read_on_request() {
    let folder = Folder::new();
    let path = table(&folder.path("x.parquet"), 12);
    let options = ReadOptions { only_known_columns: true, ..ReadOptions::default() };
    let all = read(&path, options).unwrap();
    assert_eq!(all.ids(), read_well(&path).ids());
    assert_eq!(all.bodies(), read_well(&path).bodies());
    assert_eq!(all.documents[5].field("host"), None);
}

#[test]
fn a_missing_or_unsuitable_column_is_an_error_that_lists_the_existing_ones() {
    let folder = Folder::new();
    let path = table(&folder.path("x.parquet"), 3);
    let with = |name: &str| {
        let fields = Fields { text: Some(name.into()), ..Fields::default() };
        failure(&path, ReadOptions { fields, ..ReadOptions::default() })
    };
    let error = with("body");
    assert!(error.contains("no column for the page or text (body)"), "{error}");
    assert!(error.contains("id, url, text, score, host, fetched_at"), "{error}");
    let error = with("score");
    assert!(error.contains("column score is Float32, not text or bytes"), "{error}");
}

#[test]
fn html_may_be_in_a_binary_column() {
    let folder = Folder::new();
    let path = folder.path("x.parquet");
    let html: ArrayRef = Arc::new(BinaryArray::from_opt_vec(vec![Some(b"<p>\xe9"), None]));
    let schema = Schema::new(vec![Field::new("html", DataType::Binary, true)]);
    let rows = RecordBatch::try_new(Arc::new(schema), vec![html]).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let path = path.to_str().unwrap();
    let all = read_well(path);
    assert!(matches!(&all.documents[0].body.content, Content::Bytes(it) if &**it == b"<p>\xe9"));
    assert_eq!(all.ids(), [format!("{path}:1")]);
    assert_eq!(all.passed, [Reason::NoBody]);
}

#[test]
fn damaged_tables_are_errors_and_never_panics() {
    let folder = Folder::new();
    let whole = std::fs::read(table(&folder.path("x.parquet"), 40)).unwrap();
    let options = || ReadOptions { skip_bad: true, ..ReadOptions::default() };
    for cut in [5, whole.len() / 2, whole.len() - 1] {
        let all = read(&folder.file("cut.parquet", &whole[..cut]), options()).unwrap();
        assert!(!all.bad.is_empty(), "cut at {cut}");
    }
    let mut seed = 7u64;
    for _ in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..3 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = (seed >> 33) as usize % bytes.len();
            bytes[at] ^= (seed >> 20) as u8 | 1;
        }
        let all = read(&folder.file("bad.parquet", &bytes), options()).unwrap();
        assert!(all.documents.len() <= 40 || !all.bad.is_empty());
    }
    let packed = failure(&folder.file("x.parquet.gz", gzip(&whole)), ReadOptions::default());
    assert!(packed.contains("unpack it first"), "{packed}");
}

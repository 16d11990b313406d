//! Every accepted form of line and file, and rejected ones.

use std::io::Write;
use std::path::Path;

use super::*;

fn file(content: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    file
}

fn all_of(path: &Path, form: Form) -> Result<(Option<String>, Vec<Listed>), LinesError> {
    let (mut stated, mut all) = (None, Vec::new());
    each::<LinesError>(path, form, &mut |recipe, listed| {
        stated = recipe.map(str::to_owned);
        all.push(listed);
        Ok(())
    })?;
    Ok((stated, all))
}

fn text(content: &str) -> Result<Vec<Listed>, LinesError> {
    all_of(file(content.as_bytes()).path(), Form::Recognized).map(|it| it.1)
}

fn read(content: &str) -> Vec<(u64, u64, Option<String>)> {
    let name = |it: &Listed| it.name.clone().map(|name| String::from_utf8(name).unwrap());
    let bits = |it: &Listed| it.fingerprint.unwrap().to_bits();
    text(content).unwrap().iter().map(|it| (it.number, bits(it), name(it))).collect()
}

#[test]
fn every_form_of_line_is_understood() {
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(read("00000000000000ff\n"), [(1, 255, None)]);
    assert_eq!(read("0xFF\r\n\n255\t17"), [(1, 255, None), (3, 255, some("17"))]);
    assert_eq!(read("00000000000000ff  a b .html"), [(1, 255, some("a b .html"))]);
    assert_eq!(read("00000000000000ff   led"), [(1, 255, some(" led"))]);
    assert_eq!(read("\\00000000000000ff  a\\nb\\\\c"), [(1, 255, some("a\nb\\c"))]);
    assert_eq!(read("18446744073709551615"), [(1, u64::MAX, None)]);
    assert_eq!(read("{\"fingerprint\":\"0xff\",\"id\":7}"), [(1, 255, some("7"))]);
    assert_eq!(read("{\"fingerprint\":255}"), [(1, 255, None)]);
}

#[test]
fn pages_without_a_fingerprint_are_listed_without_one() {
    let all = text("----------------  empty.html\n{\"fingerprint\":null,\"id\":\"x\"}\n").unwrap();
    assert!(all.iter().all(|it| it.fingerprint.is_none() && it.name.is_some()));
    assert_eq!(all.len(), 2);
}

#[test]
fn sums_are_those_of_the_fingerprint() {
    let sums: [i64; 64] = std::array::from_fn(|bit| if bit < 8 { 9 } else { -(bit as i64) });
    let all = text(&format!("{{\"fingerprint\":255,\"sums\":{sums:?}}}\n255\n")).unwrap();
    assert_eq!(all[0].sums, Some(Box::new(BitSums::new(sums))));
    assert_eq!(all[1].sums, None);
}

#[test]
fn csv_is_read_with_quotes_line_breaks_and_any_order_of_columns() {
    let csv = "recipe,id,fingerprint\r\nweb-2:00000000000000aa,\"a,\"\"b\"\"\nc\",00000000000000ff\r\n\
               web-2:00000000000000aa,plain,\r\n";
    let (recipe, all) = all_of(file(csv.as_bytes()).path(), Form::Recognized).unwrap();
    assert_eq!(recipe.as_deref(), Some("web-2:00000000000000aa"));
    assert_eq!(all[0].name.as_deref(), Some(&b"a,\"b\"\nc"[..]));
    assert_eq!(all[0].fingerprint, Some(Fingerprint::from_bits(255)));
    assert_eq!((all[1].number, all[1].fingerprint), (4, None));
    for (given, what) in [
        ("id,fingerprint\n\"a,1\n", "line 2: a quote is not closed"),
        ("id,fingerprint\n\"a\"b,1\n", "line 2: text behind a closing quote"),
        ("id,fingerprint\na\n", "line 2: 1 cells, and the header has 2"),
        ("id,fingerprint\na,zz\n", "line 2: `zz` is not a fingerprint"),
    ] {
        assert!(text(given).unwrap_err().to_string().contains(what), "{given}");
    }
}

#[test]
fn an_error_quotes_what_is_not_a_fingerprint() {
    let other = format!("{{\"fingerprint\":1,\"sums\":{:?}}}", [1; 64]);
    for (given, what) in [
        ("1\nxyz", "line 2: `xyz` is not a fingerprint"),
        ("18446744073709551616", "`18446744073709551616` is not a fingerprint"),
        ("+1", "`+1` is not a fingerprint"),
        ("0x", "`0x` is not a fingerprint"),
        ("0x+f", "`0x+f` is not a fingerprint"),
        ("zz00000000000000", "is not a fingerprint"),
        ("{\"id\":\"a\"}", "it has no `fingerprint`"),
        ("{\"a\":\"x\",\"b\":\"y\",\"distance\":1}", "hapax groups reads pairs"),
        ("{\"fingerprint\":-1}", "-1 is not a 64-bit fingerprint"),
        ("{\"fingerprint\":[]}", "neither text nor a number"),
        ("{\"fingerprint\":1", "line 1: bad JSON"),
        ("{\"fingerprint\":1,\"recipe\":\"web\"}", "web"),
        ("{\"fingerprint\":1,\"sums\":[1,2]}", "`sums` are 2 numbers"),
        ("{\"fingerprint\":1,\"sums\":[0.5]}", "bad JSON"),
        (&other, "line 1: `sums` are not those of the fingerprint: bit 1 is 0 and its sum 1"),
    ] {
        let wrong = text(given).unwrap_err().to_string();
        assert!(wrong.contains(what), "{given}: {wrong}");
    }
    let odd = all_of(file(&[0; 9]).path(), Form::Binary).unwrap_err();
    assert!(odd.to_string().contains("length 9 is not a multiple of 8"), "{odd}");
}

#[test]
fn a_file_of_another_kind_is_an_error_that_names_the_right_command() {
    for (given, command) in [
        (&b"WARC/1.0\r\n"[..], "hapax fingerprint"),
        (b"\n <!doctype html><p>tea", "hapax fingerprint"),
        (b"\x1f\x8b\x08\0", "unpack"),
        (b"\x28\xb5\x2f\xfd\0", "unpack"),
        (b"hapaxNAM\x01\0\0\0", "without .names"),
        (b"hapaxdf\0", "--frequencies"),
        (b"\x7fELF\0\0", "--binary"),
    ] {
        let wrong = all_of(file(given).path(), Form::Recognized).unwrap_err().to_string();
        assert!(wrong.contains(command), "{wrong}");
    }
    let folder = tempfile::tempdir().unwrap();
    let wrong = all_of(folder.path(), Form::Recognized).unwrap_err().to_string();
    assert!(wrong.contains("it is a folder"), "{wrong}");
}

#[test]
fn recipes_are_stated_by_all_entries_or_by_none() {
    let line = |recipe: &str| format!("{{\"fingerprint\":1,\"recipe\":\"{recipe}\"}}\n");
    let (one, two) = ("web-2:00000000000000aa", "web-2:00000000000000bb");
    for given in [line(one) + &line(two), line(one) + "1\n", "1\n".to_owned() + &line(one)] {
        let wrong = text(&given).unwrap_err();
        assert!(matches!(wrong, LinesError::Recipes { line: 2, .. }), "{wrong}");
    }
    assert_eq!(text(&line(one).repeat(2)).unwrap().len(), 2);
}

#[test]
fn any_bytes_in_the_names_file_of_a_segment_are_names_or_an_error() {
    for bytes in [&b""[..], b"hapaxNAM", &[0xff; 80]] {
        assert!(stored::names(bytes, 0).is_none());
    }
}

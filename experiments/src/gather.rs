//! Combines records into one document: Markdown for the repository, HTML for a browser.
//!
//! Both come from the records alone, so papers that were run at different times are combined without running any
//! again; charts are drawn again, all in the same way. A record of an unknown paper is an error, because it would be
//! lost.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use hapax_report::{BASE_STYLE, CHART_STYLE, escape};

use crate::bench::{Size, draw, picture_name, write};
use crate::record::{Record, Table};
use crate::{PAPERS, Paper};

const STYLE: &str = include_str!("papers.css");

/// Writes `papers.md` and `papers.html` into `docs` from the records in `data`; `link` is the
/// relative path from `docs` to `data`. Returns the number of records.
///
/// # Errors
///
/// A file cannot be read, is not a record or belongs to no paper, or the documents cannot be
/// written.
pub(crate) fn gather(data: &Path, docs: &Path, link: &str) -> Result<usize> {
    let records = read(data)?;
    write(&docs.join("papers.md"), &markdown(&records, link))?;
    write(&docs.join("papers.html"), &page(&records))?;
    for record in records.iter().flat_map(|(_, of)| of) {
        draw(data, record)?;
    }
    Ok(records.iter().map(|(_, of)| of.len()).sum())
}

/// All records by paper, in the order of the papers and of the numbers in their names.
fn read(data: &Path) -> Result<Vec<(Paper, Vec<Record>)>> {
    let entries = fs::read_dir(data).with_context(|| format!("cannot list {}", data.display()))?;
    let mut papers: Vec<(Paper, Vec<Record>)> =
        PAPERS.iter().map(|paper| (*paper, Vec::new())).collect();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|it| it != "json") {
            continue;
        }
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let record: Record = serde_json::from_str(&text)
            .with_context(|| format!("{} is not a record; run its paper again", path.display()))?;
        let key = record.name.split('-').next().unwrap_or_default();
        match papers.iter_mut().find(|(paper, _)| paper.key == key) {
            Some((_, records)) => records.push(record),
            None => bail!("{} belongs to no paper: {key} is not known", path.display()),
        }
    }
    for (_, records) in &mut papers {
        records.sort_by(|a, b| in_order(&a.name).cmp(&in_order(&b.name)));
    }
    papers.retain(|(_, records)| !records.is_empty());
    Ok(papers)
}

/// Sort key that puts figure-9 before figure-10. Tables come first, because figures are often drawn
/// from them.
fn in_order(name: &str) -> Vec<(u64, &str)> {
    name.split('-')
        .map(|part| match part.parse() {
            Ok(number) => (number, ""),
            Err(_) if part == "table" => (0, ""),
            Err(_) => (0, part),
        })
        .collect()
}

fn size_word(size: Size) -> &'static str {
    size.of("quick", "full")
}

fn markdown(papers: &[(Paper, Vec<Record>)], link: &str) -> String {
    let mut out = "# The papers, measured again\n\n\
        Written by `cargo xtask papers`; do not edit it by hand. `docs/benchmarks/papers.html` shows the \
        same with all charts in one file. The numbers behind each chart are in `experiments/data/`.\n"
        .to_owned();
    for (paper, records) in papers {
        out.push_str(&format!("\n## {}\n\n", paper.title));
        let mut overview = Table::new(["", "about", "verdict"]);
        for record in records {
            overview.row([record.figure.as_str(), &record.title, record.verdict.word()]);
        }
        markdown_table(&mut out, &overview);
        for record in records {
            out.push_str(&format!("\n### {}: {}\n\n", record.figure, record.title));
            out.push_str(&format!("*The paper:* {}\n\n", record.claim));
            out.push_str(&format!(
                "*Here* ({}, {}): {}\n\n",
                size_word(record.size),
                record.verdict.word(),
                record.sentence
            ));
            out.push_str(&format!("*Measured on:* {}\n", record.ran_on));
            if let Some(table) = &record.table {
                out.push('\n');
                markdown_table(&mut out, table);
            }
            for (number, chart) in record.charts.iter().enumerate() {
                let file = picture_name(&record.name, number);
                out.push_str(&format!("\n![{}]({link}/{file})\n", chart.title));
            }
        }
    }
    out
}

fn markdown_table(out: &mut String, table: &Table) {
    let line = |out: &mut String, cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    };
    line(out, &table.columns);
    let rule: Vec<&str> =
        (0..table.columns.len()).map(|at| if at == 0 { "---" } else { "---:" }).collect();
    out.push_str(&format!("| {} |\n", rule.join(" | ")));
    for row in &table.rows {
        line(out, row);
    }
}

fn page(papers: &[(Paper, Vec<Record>)]) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>The papers, measured again</title>\n<style>{BASE_STYLE}{CHART_STYLE}{STYLE}</style></head>\n<body><main>\n\
         <h1>The papers, measured again</h1>\n<p class=\"lead\">Every table and figure with numbers, run by the \
         engine that ships. Written by <code>cargo xtask papers</code>.</p>\n"
    );
    for (paper, records) in papers {
        out.push_str(&format!(
            "<section class=\"paper\"><h2>{}</h2>\n<ul class=\"overview\">",
            escape(paper.title)
        ));
        for record in records {
            out.push_str(&format!(
                "<li><a href=\"#{0}\">{1}</a> {2} <b class=\"{3}\">{3}</b></li>\n",
                escape(&record.name),
                escape(&record.figure),
                escape(&record.title),
                record.verdict.word()
            ));
        }
        out.push_str("</ul>\n");
        for record in records {
            section(&mut out, record);
        }
        out.push_str("</section>\n");
    }
    out.push_str("</main></body></html>\n");
    out
}

fn section(out: &mut String, record: &Record) {
    out.push_str(&format!(
        "<section id=\"{}\"><h3 class=\"name\">{}: {}</h3>\n<p class=\"about\"><i>The paper:</i> {}</p>\n\
         <p><b>{}</b>: {}</p>\n<p class=\"about\"><i>Measured on</i> ({}): {}</p>\n",
        escape(&record.name),
        escape(&record.figure),
        escape(&record.title),
        escape(&record.claim),
        record.verdict.word(),
        escape(&record.sentence),
        size_word(record.size),
        escape(&record.ran_on)
    ));
    if !record.charts.is_empty() {
        out.push_str("<div class=\"charts\">\n");
        for chart in &record.charts {
            out.push_str(&chart.figure());
        }
        out.push_str("</div>\n");
    }
    if let Some(table) = &record.table {
        out.push_str("<div class=\"scroll\"><table>\n<tr>");
        for column in &table.columns {
            out.push_str(&format!("<th>{}</th>", escape(column)));
        }
        out.push_str("</tr>\n");
        for row in &table.rows {
            out.push_str("<tr>");
            for cell in row {
                out.push_str(&format!("<td>{}</td>", escape(cell)));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</table></div>\n");
    }
    out.push_str("</section>\n");
}

#[cfg(test)]
mod tests {
    use hapax_report::chart::{Axis, Chart, Series};

    use super::*;
    use crate::bench::Bench;
    use crate::record::Verdict;

    fn record(name: &str) -> Record {
        let mut table = Table::new(["machines", "a|b"]);
        table.row(["2", "1.5"]);
        Record {
            name: name.to_owned(),
            figure: "Figure 4".to_owned(),
            title: "load <imbalance>".to_owned(),
            claim: "3D is better.".to_owned(),
            ran_on: "nothing".to_owned(),
            verdict: Verdict::Agrees,
            sentence: "It is.".to_owned(),
            size: Size::Quick,
            table: Some(table),
            charts: vec![Chart {
                title: "load".to_owned(),
                x: Axis::logarithmic("machines"),
                y: Axis::linear("factor"),
                series: vec![Series::new("1D", vec![(2.0, 1.0)])],
                about: String::new(),
            }],
            data: serde_json::Value::Null,
        }
    }

    fn bench(out: &Path) -> Bench<'_> {
        Bench {
            size: Size::Full,
            pages: None,
            out: out.to_owned(),
            only: vec!["zhu-figure-4".to_owned(), "sood".to_owned()],
            say: &|_| (),
            written: 0.into(),
        }
    }

    #[test]
    fn kept_records_are_gathered_in_the_order_of_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let bench = bench(folder.path());
        bench.keep(record("zhu-figure-10")).unwrap();
        bench.keep(record("zhu-figure-9")).unwrap();
        bench.keep(Record { charts: Vec::new(), ..record("zhu-table-1") }).unwrap();
        fs::remove_file(folder.path().join("zhu-figure-9.svg")).unwrap();
        assert_eq!(gather(folder.path(), folder.path(), "data").unwrap(), 3);
        assert!(folder.path().join("zhu-figure-9.svg").is_file());
        let markdown = fs::read_to_string(folder.path().join("papers.md")).unwrap();
        let nine = markdown.find("data/zhu-figure-9.svg").unwrap();
        assert!(nine < markdown.find("data/zhu-figure-10.svg").unwrap());
        assert!(markdown.contains("| machines | a\\|b |") && markdown.contains("(full, agrees)"));
        let page = fs::read_to_string(folder.path().join("papers.html")).unwrap();
        assert!(page.contains("load &lt;imbalance&gt;") && page.contains("<polyline"));
        assert!(!page.contains("http://") && !page.contains("https://"));
    }

    #[test]
    fn the_published_document_agrees_with_the_records() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let records = read(&root.join("experiments/data")).unwrap();
        let written = fs::read_to_string(root.join("docs/benchmarks/papers.md")).unwrap();
        assert!(
            written == markdown(&records, "../../experiments/data"),
            "`cargo xtask papers` rewrites it"
        );
    }

    #[test]
    fn an_error_names_a_file_that_is_not_a_record() {
        let folder = tempfile::tempdir().unwrap();
        bench(folder.path()).keep(record("who-figure-1")).unwrap();
        let error = gather(folder.path(), folder.path(), "data").unwrap_err().to_string();
        assert!(error.contains("who-figure-1.json belongs to no paper"), "{error}");
        fs::write(folder.path().join("who-figure-1.json"), "{}").unwrap();
        let error = gather(folder.path(), folder.path(), "data").unwrap_err().to_string();
        assert!(error.contains("is not a record"), "{error}");
    }

    #[test]
    fn single_records_and_whole_papers_can_be_requested() {
        let folder = tempfile::tempdir().unwrap();
        let bench = bench(folder.path());
        assert!(bench.wants("zhu-figure-4") && bench.wants("sood-table-2"));
        assert!(!bench.wants("zhu-figure-44") && !bench.wants("pi-figure-4"));
    }
}

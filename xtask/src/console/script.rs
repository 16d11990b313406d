//! Finds the examples in a Markdown text, and writes corrected output into it.
//!
//! A `\` at the end of a line continues the command; the next line may start with `> `. Blank lines before the next
//! command are not output.

use std::ops::Range;

use anyhow::{Result, bail};

use crate::markdown::{Place, lines};

/// One fenced block of examples; they share a folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Line of the fence, from 1.
    pub(super) line: usize,
    pub(super) no_run: bool,
    pub(super) examples: Vec<Example>,
}

/// A command with its expected result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Example {
    /// Line of the command, from 1.
    pub(super) line: usize,
    pub(super) command: String,
    /// The expected exit code.
    pub(super) exit: i32,
    /// The lines below it; `None` if there are none.
    pub(super) output: Option<Vec<String>>,
    /// Position of these lines, from 0.
    pub(super) place: Range<usize>,
}

/// All `console` blocks of a text.
pub(super) fn parse(text: &str) -> Result<Vec<Block>> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut indent = None;
    let mut continues = false;
    for line in lines(text) {
        match line.place {
            Place::FenceStart(info) => {
                let no_run = match info.split_whitespace().collect::<Vec<_>>()[..] {
                    ["console"] => false,
                    ["console", "no-run"] => true,
                    ["console", ..] => {
                        bail!("line {}: `{info}`: only `no-run` may follow", line.number)
                    }
                    _ => continue,
                };
                indent = Some(line.text.len() - line.text.trim_start().len());
                continues = false;
                blocks.push(Block { line: line.number, no_run, examples: Vec::new() });
            }
            Place::FenceEnd => indent = None,
            Place::Fenced => {
                let (Some(indent), Some(block)) = (indent, blocks.last_mut()) else { continue };
                // A block in a list is indented like its fence.
                let width = line.text.len() - line.text.trim_start().len();
                let text = &line.text[indent.min(width)..];
                continues = add_line(block, line.number, text, continues)?;
            }
            Place::Prose => {}
        }
    }
    for example in blocks.iter_mut().flat_map(|block| &mut block.examples) {
        finish(example)?;
    }
    Ok(blocks)
}

/// The text with each example's shown output replaced.
pub(super) fn correct(text: &str, corrections: &[(&Example, String)]) -> String {
    let mut rewritten: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut ordered: Vec<&(&Example, String)> = corrections.iter().collect();
    // From the end, so that earlier positions stay valid.
    ordered.sort_by_key(|(example, _)| std::cmp::Reverse(example.place.start));
    for (example, output) in ordered {
        let command = &rewritten[example.line - 1];
        let indent = " ".repeat(command.len() - command.trim_start().len());
        let output = output.trim_end().lines().map(|line| {
            let line = format!("{indent}{line}");
            line.trim_end().to_owned()
        });
        rewritten.splice(example.place.clone(), output);
    }
    rewritten.join("\n") + "\n"
}

/// Adds one line of a block; returns whether the next line continues its command.
fn add_line(block: &mut Block, number: usize, text: &str, continues: bool) -> Result<bool> {
    let more = if let (true, Some(example)) = (continues, block.examples.last_mut()) {
        let more = text.strip_prefix("> ").unwrap_or(text);
        example.command.push('\n');
        example.command.push_str(more);
        example.place = number..number;
        more
    } else if let Some(command) = text.strip_prefix("$ ") {
        block.examples.push(Example {
            line: number,
            command: command.to_owned(),
            exit: 0,
            output: None,
            place: number..number,
        });
        command
    } else if let Some(example) = block.examples.last_mut() {
        example.output.get_or_insert_default().push(text.trim_end().to_owned());
        example.place.end = number;
        return Ok(false);
    } else if text.trim().is_empty() {
        return Ok(false);
    } else {
        bail!("line {number}: output before any command; a command starts with `$ `");
    };
    Ok(more.ends_with('\\'))
}

/// Reads the expected exit code and drops blank lines at the end.
fn finish(example: &mut Example) -> Result<()> {
    if let Some((_, code)) = example.command.rsplit_once("# exits ") {
        match code.trim().parse() {
            Ok(code) => example.exit = code,
            Err(_) => bail!("line {}: `{code}` is no exit code", example.line),
        }
    }
    if let Some(output) = &mut example.output {
        while output.last().is_some_and(String::is_empty) {
            output.pop();
            example.place.end -= 1;
        }
        if output.is_empty() {
            example.output = None;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Title
```console
$ hapax compare a b  # exits 1
97 %

same
$ ls \\
> out

$ true
```
```rust
$ not this
```
- in a list:
  ```console no-run
  $ hapax serve
  ```
";

    #[test]
    fn commands_output_and_exit_codes_are_found() {
        let blocks = parse(TEXT).unwrap();
        assert_eq!(blocks.len(), 2);
        let examples = &blocks[0].examples;
        assert_eq!(examples.len(), 3);
        assert_eq!((examples[0].line, examples[0].exit), (3, 1));
        assert_eq!(examples[0].output, Some(vec!["97 %".into(), String::new(), "same".into()]));
        assert_eq!(examples[1].command, "ls \\\nout");
        assert_eq!((examples[1].exit, &examples[1].output), (0, &None));
        assert_eq!(examples[2].command, "true");
    }

    #[test]
    fn blocks_that_are_not_run_are_marked_and_may_be_indented() {
        let blocks = parse(TEXT).unwrap();
        assert!(!blocks[0].no_run);
        assert!(blocks[1].no_run);
        assert_eq!(blocks[1].examples[0].command, "hapax serve");
    }

    #[test]
    fn an_invalid_example_is_an_error_with_its_line() {
        for (text, line) in [
            ("```console\nls\n```\n", "line 2"),
            ("```console norun\n$ ls\n```\n", "line 1"),
            ("\n```console\n$ ls # exits often\n```\n", "line 3"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(line), "{error}");
        }
    }

    #[test]
    fn corrected_output_replaces_the_shown_lines_and_nothing_else() {
        let text = "a\n```console\n$ one\nold\nold\n\n$ two\nold\n```\n  ```console\n  $ three\n  old\n  ```\nb\n";
        let blocks = parse(text).unwrap();
        let corrections: Vec<(&Example, String)> = blocks
            .iter()
            .flat_map(|block| &block.examples)
            .zip(["1\n", "2\n\n3\n", "4\n"])
            .map(|(example, output)| (example, output.to_owned()))
            .collect();
        assert_eq!(
            correct(text, &corrections),
            "a\n```console\n$ one\n1\n\n$ two\n2\n\n3\n```\n  ```console\n  $ three\n  4\n  ```\nb\n"
        );
    }
}

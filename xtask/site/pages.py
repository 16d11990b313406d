"""What the site needs beyond the Markdown files: they are written for code hosts, too.

Pages may link to any file of the repository. Pictures outside `docs/` are copied into the site; a
link to another file outside it becomes its text and path, because a site has no such file. Lists
that follow a paragraph directly, and fences with several words, are changed to what MkDocs reads.
Pages of commands get the whole width, for lines of a hundred characters.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = "reference/commands/"
STYLE = "assets/site.css"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")
# Marks that `cargo xtask tidy` reads; without the space in front, which would be shown.
MARK = re.compile(r" ?<!--.*?-->")
FETCHED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//|<link\b[^>]*\bhref=[\"']?(?:https?:)?//")
ITEM = re.compile(r"([-*]|\d+\.) ")


def on_config(config):
    """Lists the command pages in the navigation, whatever commands there are."""
    pages = sorted((ROOT / "docs" / COMMANDS).glob("*.md"))
    names = ["index.md"] + [page.name for page in pages if page.name != "index.md"]
    expand(config.nav, [COMMANDS + name for name in names])
    return config


def expand(nav, commands):
    for entry in nav:
        for title, below in entry.items() if isinstance(entry, dict) else ():
            if below == COMMANDS:
                entry[title] = [
                    page if page.endswith("index.md") else {f"hapax {Path(page).stem}": page} for page in commands
                ]
            elif isinstance(below, list):
                expand(below, commands)


def on_files(files, config):
    for picture in sorted((ROOT / "experiments/data").glob("*.svg")):
        uri = picture.relative_to(ROOT).as_posix()
        files.append(File.generated(config, uri, abs_src_path=str(picture)))
    files.append(File.generated(config, STYLE, abs_src_path=str(ROOT / "xtask/site/site.css")))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri.startswith(COMMANDS):
        page.meta["hide"] = ["toc"]
    here = posixpath.join("docs", posixpath.dirname(page.file.src_uri))
    lines, fence, before = [], None, ""
    for line in markdown.split("\n"):
        mark = re.match(r"\s*(`{3,})", line)
        if fence is None and mark:
            fence = mark[1]
            # Words behind the language are for the command that runs the examples.
            line = re.sub(r"^(\s*`{3,}\w+) .*", r"\1", line)
        elif fence is not None:
            fence = None if mark and line.strip() == fence else fence
        else:
            line = LINK.sub(lambda link: inside(link, here), MARK.sub("", line))
            # A list needs a blank line in front of it here, and none on a code host.
            if ITEM.match(line) and before.strip() and not ITEM.match(before) and not before.startswith(" "):
                lines.append("")
        lines.append(line)
        before = line
    return "\n".join(lines)


def on_post_page(output, page, config):
    if FETCHED.search(output):
        raise PluginError(f"{page.file.src_uri}: the page would fetch something from another host")
    return output


def inside(link, here):
    """A link as it is, or as the site can have it."""
    picture, text, target, _ = link.groups()
    place = posixpath.normpath(posixpath.join(here, target))
    if place.startswith("docs/"):
        return link[0]
    if picture:
        return f"![{text}]({posixpath.relpath(place, posixpath.relpath(here, 'docs'))})"
    return f"{text} (`{place}`)" if place not in text else f"`{place}`"

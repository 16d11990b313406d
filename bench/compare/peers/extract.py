"""selectolax, resiliparse and trafilatura: HTML, decoded, to text."""

import json

import measure


def selectolax():
    from selectolax.lexbor import LexborHTMLParser

    def text(html):
        parser = LexborHTMLParser(html)
        parser.strip_tags(["script", "style", "noscript"])
        return parser.body.text(separator=" ") if parser.body else ""

    return text, "lexbor; script, style and noscript taken out"


def resiliparse(main_content):
    from resiliparse.extract.html2text import extract_plain_text

    def text(html):
        return extract_plain_text(html, main_content=main_content, preserve_formatting=False)

    return text, "main content" if main_content else "all"


def trafilatura(fast):
    from trafilatura import extract

    def text(html):
        return extract(html, fast=fast, include_comments=False, deduplicate=False) or ""

    return text, "main content, fast" if fast else "main content"


TOOLS = {
    "selectolax": selectolax,
    "resiliparse": lambda: resiliparse(False),
    "resiliparse-main": lambda: resiliparse(True),
    "trafilatura": lambda: trafilatura(False),
    "trafilatura-fast": lambda: trafilatura(True),
}


def main():
    job = measure.job()
    pages = measure.documents(job["pages"])
    text, setting = TOOLS[job["tool"]]()
    texts, seconds = measure.repeated(lambda: [text(page["html"]) for page in pages])
    with open(job["out"], "w", encoding="utf-8") as out:
        for page, made in zip(pages, texts):
            out.write(json.dumps({"id": page["id"], "text": made}) + "\n")
    measure.report(setting, seconds, len(pages), bytes=sum(len(made.encode("utf-8", "replace")) for made in texts))


main()

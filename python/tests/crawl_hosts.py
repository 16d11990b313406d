"""A crawl that asks for more than pages: `crawl_hosts.py JSON` prints items, stats and what was logged as an error."""

import json
import logging
import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse
from scrapy.spiders import CSVFeedSpider, SitemapSpider, XMLFeedSpider

given = json.loads(sys.argv[1])


class Middleware:
    """Asks for a file of its own before the first page, as a login or a proxy would."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_request(self, request, spider=None):
        if request.meta.get("ask_first"):
            answer = await download(self.crawler, scrapy.Request(request.meta["ask_first"]))
            request.cb_kwargs["asked"] = answer.text


async def download(crawler, request):
    engine = crawler.engine
    if hasattr(engine, "download_async"):
        return await engine.download_async(request)
    return await scrapy.utils.defer.maybe_deferred_to_future(engine.download(request))


class Spider(scrapy.Spider):
    name = "hosts"
    custom_settings = given["settings"]

    async def start(self):
        for request in self.start_requests():
            yield request

    def start_requests(self):
        for one in given["start"]:
            callback = getattr(self, one.pop("callback", "parse"))
            errback = self.skipped if one.pop("errback", False) else None
            yield scrapy.Request(callback=callback, errback=errback, dont_filter=True, **one)

    def parse(self, response, **arguments):
        """As a generator: follows what the page links to."""
        yield self.item(response, **arguments)
        if isinstance(response, HtmlResponse):
            yield from response.follow_all(css="a", errback=self.skipped)

    def parse_list(self, response):
        return [self.item(response)]

    async def parse_later(self, response):
        return [self.item(response)]

    async def parse_asking(self, response):
        """As an asynchronous generator: asks for the same content elsewhere."""
        other = await download(self.crawler, scrapy.Request(response.urljoin("/copy")))
        yield {**self.item(response), "asked": other.text == response.text}

    def parse_again(self, response):
        """Asks for the page again, with its own meta."""
        yield self.item(response)
        if not response.meta.get("again"):
            yield response.request.replace(meta={**response.meta, "again": True}, dont_filter=True)
            image = response.urljoin("/photo.png")
            yield scrapy.Request(image, callback=self.parse_list, meta=response.meta)

    def parse_files(self, response):
        yield {**self.item(response), "file_urls": response.css("a::attr(href)").getall()}

    def skipped(self, failure):
        yield {"url": failure.request.url, "refused": type(failure.value).__name__}

    def item(self, response, **arguments):
        verdict = response.meta.get("hapax")
        return {"url": response.url, "verdict": verdict and verdict.verdict, **arguments}


class Sitemaps(SitemapSpider):
    name = "sitemaps"
    custom_settings = given["settings"]
    sitemap_urls = given.get("sitemaps", [])

    def parse(self, response):
        yield {"url": response.url}


class Rows(CSVFeedSpider):
    name = "rows"
    custom_settings = given["settings"]
    start_urls = given.get("feeds", [])

    def parse_row(self, response, row):
        yield {"url": response.url}


class Nodes(XMLFeedSpider):
    name = "nodes"
    iterator = "html"
    custom_settings = given["settings"]
    start_urls = given.get("feeds", [])

    def parse_node(self, response, node):
        yield {"url": response.url}
        yield response.follow(node.css("::text").get(), self.parse_page, dont_filter=True)

    def parse_page(self, response):
        yield {"url": response.url, "page": True}


class Errors(logging.Handler):
    def emit(self, record):
        errors.append(self.format(record))


items, errors = [], []
process = CrawlerProcess({
    "LOG_LEVEL": "ERROR", "CONCURRENT_REQUESTS": 1, "ROBOTSTXT_OBEY": False, "TELNETCONSOLE_ENABLED": False,
    "RETRY_ENABLED": False, "DOWNLOADER_MIDDLEWARES": {Middleware: 50},
})
kinds = {"pages": Spider, "sitemaps": Sitemaps, "rows": Rows, "nodes": Nodes}
crawler = process.create_crawler(kinds[given.get("kind", "pages")])
logging.getLogger().addHandler(Errors(logging.ERROR))


def scraped(item):
    items.append(dict(item))


crawler.signals.connect(scraped, signal=scrapy.signals.item_scraped)
process.crawl(crawler)
process.start()
stats = {name: count for name, count in crawler.stats.get_stats().items() if name.startswith(("hapax/", "robotstxt/"))}
print(json.dumps({"items": items, "stats": stats, "errors": errors}))

"""A crawl in a process of its own: `crawl_site.py JSON` prints items and stats."""

import json
import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import TextResponse

given = json.loads(sys.argv[1])


class Spider(scrapy.Spider):
    name = "site"
    custom_settings = given["settings"]

    async def start(self):
        yield scrapy.Request(given["site"] + given.get("start", "/"), meta=given.get("meta") or {})

    def start_requests(self):
        yield scrapy.Request(given["site"] + given.get("start", "/"), meta=given.get("meta") or {})

    def parse(self, response):
        text = isinstance(response, TextResponse)
        verdict = response.meta.get("hapax")
        yield {"url": response.url, "verdict": verdict and verdict.verdict, "flags": response.flags,
               "text": " ".join(response.css("p::text").getall()) if text else None}
        if text:
            for place, link in enumerate(response.css("a::attr(href)").getall()):
                yield response.follow(link, self.parse, priority=-place, dont_filter=True)


items = []
process = CrawlerProcess({
    "LOG_LEVEL": "ERROR", "CONCURRENT_REQUESTS": 1, "ROBOTSTXT_ENABLED": False, "TELNETCONSOLE_ENABLED": False,
    "HTTPERROR_ALLOW_ALL": False, "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7", "RETRY_ENABLED": False,
})
crawler = process.create_crawler(Spider)


def scraped(item: dict) -> None:
    items.append(dict(item))


crawler.signals.connect(scraped, signal=scrapy.signals.item_scraped)
process.crawl(crawler)
process.start()
stats = {k: v for k, v in crawler.stats.get_stats().items() if k.startswith(("hapax/", "item_dropped", "log_count/ERROR"))}
print(json.dumps({"items": items, "stats": stats}))

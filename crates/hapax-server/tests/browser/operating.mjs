// Overview, history, settings and search.

import assert from "node:assert/strict";
import { answer, base, button, send, test } from "./harness.mjs";

await test("the overview draws its charts in the operator's words and leaves out what is empty", async (page) => {
  await page.getByRole("img", { name: /^Pages with text:/ }).waitFor();
  await page.getByRole("img", { name: /^Distance to the kept page \(bits\):/ }).waitFor();
  const verdicts = await page.getByRole("img", { name: /^Verdicts since the start:/ }).getAttribute("aria-label");
  assert.match(verdicts, /near-duplicate [1-9]/);
  assert.doesNotMatch(verdicts, / 0(,|$)/);
  await page.getByText("pages recorded", { exact: true }).waitFor();
  assert.doesNotMatch(await page.locator("main").innerText(), /tier|judged|commit|winner/i);
}, "#/overview");

await test("history shows what happened, newest first", async (page) => {
  await page.getByText("joined").first().waitFor();
  const numbers = (await page.locator("tbody td.number").allInnerTexts()).map((n) => Number(n.replaceAll(",", "")));
  assert.deepEqual(numbers, [...numbers].sort((a, b) => b - a));
  const { rows } = await (await fetch(`${base}/v1/events?after=0&limit=1`)).json();
  assert.match(rows[0].at, /^\d{4}-\d\d-\d\dT/);
  assert.equal(await page.locator("tbody td.time time").count(), numbers.length);
}, "#/history");

await test("history has times, and says that content has changed", async (page) => {
  const event = { sequence: 1, change: "changed", group: 0, other_group: null, url: "https://example.org/tea", other_url: null, at: "2026-03-04T05:06:07Z" };
  await answer(page, "**/v1/events?*", { rows: [event], next: null });
  await page.reload();
  await page.getByRole("columnheader", { name: "Time (UTC)" }).waitFor();
  const row = page.locator("tbody tr");
  assert.match(await row.innerText(), /2026-03-04 05:06\s+https:\/\/example.org\/tea has new content/);
  assert.equal(await row.locator("time").getAttribute("datetime"), "2026-03-04T05:06:07.000Z");
}, "#/history");

await test("settings show what the service runs with, markets by name", async (page) => {
  await page.getByText("web-2:").waitFor();
  assert.match(await page.locator("main").innerText(), /markets with rules of their own\s+none/);
  await send("PUT", "/v1/markets/germany", { rules: "shortest-url" });
  await page.reload();
  await page.getByText("germany").waitFor();
  assert.match(await page.locator("main").innerText(), /germany\s+shortest-url/);
  assert.doesNotMatch(await page.locator("main").innerText(), /\[object/);
}, "#/settings");

await test("a search box is there where an index is served, with near-duplicates folded", async (page) => {
  await page.getByRole("link", { name: "Search", exact: true }).click();
  await page.getByLabel("Words to search for").fill("drop database");
  await button(page, "Search").click();
  const hits = page.getByRole("region", { name: "Results" }).locator("ol > li");
  await hits.first().getByText("DROP DATABASE").first().waitFor();
  const folded = await hits.count();
  await hits.first().getByText(/^\d+ near-duplicates?$/).click();
  await hits.first().getByText(/similar \(estimated\)/).first().waitFor();
  await button(page, "More results").click();
  await hits.nth(folded).waitFor();
  await page.getByLabel("show near-duplicates as results of their own").check();
  await button(page, "Search").click();
  await page.locator("main").getByText(/^\d+ pages found\.$/).waitFor();
  await page.getByLabel("Words to search for").fill("qqqqq");
  await button(page, "Search").click();
  await page.locator("main").getByText("No page has these words").waitFor();
});

await test("without a search index there is no search box", async (page) => {
  const shown = await (await fetch(`${base}/v1/settings`)).json();
  await answer(page, "**/v1/settings", { ...shown, search_index: false });
  await page.reload();
  await page.getByText("This service has no search index").waitFor();
  assert.equal(await page.getByRole("link", { name: "Search", exact: true }).isVisible(), false);
}, "#/search");
